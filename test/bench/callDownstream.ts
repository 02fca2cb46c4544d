import http from 'node:http';

/** The one way in which Muster's handler and the floor call the downstream. */

export interface Item {
  id: string;
  payload: unknown;
}
export interface ItemAnswer {
  id: string;
  ref: string;
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

export const callDownstream = (url: string, target: string, items: readonly Item[]): Promise<ItemAnswer[]> =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify({ target, items });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve((JSON.parse(Buffer.concat(chunks).toString()) as { results: ItemAnswer[] }).results));
    });
    request.on('error', reject);
    request.end(body);
  });
