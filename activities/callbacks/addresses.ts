import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { bareHost, isLoopback, namesAddress } from './allowed';

/**
 * Decides which addresses a webhook may be sent to (`callbacks.allow`), so that no sender of a task
 * can reach a server's own network through Muster.
 */

export interface Resolved {
  address: string;
  family: 4 | 6;
}
export type Resolve = (host: string) => Promise<readonly Resolved[]>;

/** Resolves a host to all addresses by the system's resolver. */
export const resolveHost: Resolve = async (host) => (await lookup(host, { all: true, verbatim: true })) as Resolved[];

/**
 * Addresses outside the public Internet (IANA's special-purpose registries): loopback, private,
 * link-local (cloud metadata), documentation, multicast.
 */
const NOT_PUBLIC = { 4: new BlockList(), 6: new BlockList() }; // two: one list would also compare 8.8.8.8 as ::ffff:8.8.8.8
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  NOT_PUBLIC[4].addSubnet(net, bits, 'ipv4');
// Of IPv6, only 2000::/3 is public, minus the ranges that carry an IPv4 address, documentation and
// tunnels.
for (const [net, bits] of [
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  NOT_PUBLIC[6].addSubnet(net, bits, 'ipv6');

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/**
 * Returns an IPv4-mapped IPv6 address as the IPv4 address. Other spellings of one fall into `::/3`.
 */
const plain = (address: string): string => MAPPED.exec(address)?.[1] ?? address;

export const isPublic = (address: string): boolean => {
  const bare = plain(address);
  const family = isIP(bare);
  return family === 4 ? !NOT_PUBLIC[4].check(bare) : family === 6 && !NOT_PUBLIC[6].check(bare, 'ipv6');
};

/**
 * Returns those addresses of a URL's host that may be connected to: public ones, and others only if
 * `allow` names the address itself for the URL's port, so that an allowed name whose DNS entry is
 * turned to an internal address leads nowhere. `localhost` stands for the loopback itself.
 */
export const allowedAddresses = (allow: readonly string[], url: URL, addresses: readonly Resolved[]): Resolved[] => {
  const host = bareHost(url.hostname);
  const isLocal = host === 'localhost' || host.endsWith('.localhost');
  return addresses.filter(({ address }) => {
    const bare = plain(address).toLowerCase();
    return isPublic(bare) || namesAddress(allow, bare, url) || (isLocal && isLoopback(bare));
  });
};
