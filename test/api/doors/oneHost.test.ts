import { namesOneHost } from '../../../workers/doors/oneHost';

/** Which requests name the host that they are for once, as no server reads it otherwise. */

type Hosts = readonly string[];
const names = (httpVersion: string, hosts: Hosts, url = '/'): boolean =>
  namesOneHost({ httpVersion, url, rawHeaders: ['Accept', '*/*', ...hosts.flatMap((host) => ['hOsT', host])] });

test.each<[string, string, Hosts, string, boolean]>([
  ['as usual', '1.1', ['api.example.com:8080'], '/v1', true],
  ['the same of HTTP/1.0', '1.0', ['api.example.com'], '/v1', true],
  ['none', '1.1', [], '/v1', false],
  ['none in HTTP/1.0, which may do so', '1.0', [], '/v1', true],
  ['none beside a target with a host', '1.1', [], 'http://api.example.com/v1', false],
  ['none in HTTP/1.0, beside a target with a host', '1.0', [], 'http://api.example.com/v1', false],
  ['one in HTTP/0.9, which has no headers', '0.9', ['api.example.com'], '/v1', false],
  ['none in HTTP/0.9', '0.9', [], '/v1', false],
  ['two', '1.1', ['api.example.com', 'other.example.com'], '/v1', false],
  ['the same one twice', '1.1', ['api.example.com', 'api.example.com'], '/v1', false],
  ['that of its target', '1.1', ['api.example.com'], 'http://api.example.com/v1', true],
  ['another than that of its target', '1.1', ['api.example.com'], 'http://other.example.com/v1', false],
  ['that of its target, without its port', '1.1', ['api.example.com'], 'https://api.example.com:8080/v1', false],
])('a request whose host is named %s: HTTP/%s, %j for %s: %s', (_what, version, hosts, url, expected) => {
  expect(names(version, hosts, url)).toBe(expected);
});

test.each<[string, boolean]>([
  ['localhost', true],
  ['127.0.0.1:8080', true],
  ['[::1]:8080', true],
  ['[::1]', true],
  ['outbound|8080||api.svc', true],
  ['', true],
  ['api.example.com:', true],
  ['api.example.com:99999', true],
  ['api.example.com:123456', false],
  ['api.example.com:80:80', false],
  ['api.example.com:port', false],
  ['a.example.com,b.example.com', false],
  ['a.example.com b.example.com', false],
  ['user@api.example.com', false],
  ['api.example.com/v1', false],
  ['api.example.com\\v1', false],
  ['api.example.com?a', false],
  ['api.example.com#a', false],
  ['[::1', false],
  ['::1', false],
  ['[api.example.com]', false],
])('%j as the host of a request: %s', (host, expected) => {
  expect(names('1.1', [host])).toBe(expected);
});

test('a header that has the name as its value names no host', () => {
  const rawHeaders = ['X-Of', 'host', 'Host', 'a', 'X-More', 'Host'];
  expect(namesOneHost({ httpVersion: '1.1', url: '/', rawHeaders })).toBe(true);
});
