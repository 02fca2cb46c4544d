import { allowedAddresses } from '../../../activities/callbacks/addresses';
import { isAllowedUrl, parseAllowed } from '../../../activities/callbacks/allowed';

/** Lists of allowed hosts: what an entry names, and what is no entry. */

test('a host allows the default port, with a port that one, with * every one', () => {
  const allowed = (entry: string, url: string): boolean => isAllowedUrl([entry], new URL(url), 'https');
  expect(allowed('hooks.example.com', 'https://hooks.example.com/x')).toBe(true);
  expect(allowed('hooks.example.com', 'https://hooks.example.com:443/x')).toBe(true);
  expect(allowed('hooks.example.com', 'https://hooks.example.com:8443/x')).toBe(false);
  expect(allowed('HOOKS.example.com:8443', 'https://hooks.Example.com:8443/x')).toBe(true);
  expect(allowed('hooks.example.com:8443', 'https://hooks.example.com/x')).toBe(false);
  expect(allowed('hooks.example.com:443', 'https://hooks.example.com/x')).toBe(true);
  expect(allowed('hooks.example.com:*', 'https://hooks.example.com:8443/x')).toBe(true);
  expect(allowed('hooks.example.com.', 'https://hooks.example.com/x')).toBe(true);
  expect(allowed('bücher.example', 'https://xn--bcher-kva.example/x')).toBe(true);
  expect(allowed('::1', 'http://[::1]:80/x')).toBe(true);
  expect(allowed('[::1]', 'http://[::1]:99/x')).toBe(false);
  expect(allowed('[::1]:99', 'http://[0::1]:99/x')).toBe(true);
  expect(allowed('[2606:4700::1111]:8443', 'https://[2606:4700:0::1111]:8443/')).toBe(true);
  expect(allowed('example.com', 'https://evilexample.com/')).toBe(false);
  expect(allowed('example.com', 'https://example.com.evil.org/')).toBe(false);
  expect(allowed('127.0.0.1', 'http://2130706433/')).toBe(true); // the same address, as the URL standard spells it
  expect(allowed('example.com', 'http://2130706433/')).toBe(false);
});

test('http only where the entry says so, and to this machine', () => {
  const allowed = (entry: string, url: string): boolean => isAllowedUrl([entry], new URL(url), 'https');
  expect(allowed('hooks.example.com', 'http://hooks.example.com/')).toBe(false);
  expect(allowed('hooks.example.com:80', 'http://hooks.example.com/')).toBe(false);
  expect(allowed('http://hooks.example.com', 'http://hooks.example.com/')).toBe(true);
  expect(allowed('http://hooks.example.com', 'https://hooks.example.com/')).toBe(false);
  expect(allowed('http://hooks.example.com', 'http://hooks.example.com:8080/')).toBe(false);
  expect(allowed('http://hooks.example.com:8080', 'http://hooks.example.com:8080/')).toBe(true);
  expect(allowed('https://hooks.example.com', 'http://hooks.example.com:443/')).toBe(false);
  expect(allowed('10.0.0.1', 'http://10.0.0.1/')).toBe(false);
  for (const host of ['localhost', 'app.localhost', '127.0.0.1', '127.9.9.9', '[::1]'])
    expect([host, allowed(host, `http://${host}/`)]).toEqual([host, true]);
  expect(allowed('127.0.0.1.example.com', 'http://127.0.0.1.example.com/')).toBe(false);
});

test('an entry names an address for its own scheme and port, for any where it has none', () => {
  const leads = (entry: string, url: string, address = '10.0.0.5'): boolean =>
    allowedAddresses(['partner.example:*', entry], new URL(url), [{ address, family: 4 }]).length > 0;
  expect(leads('10.0.0.5:9000', 'http://partner.example/')).toBe(false);
  expect(leads('10.0.0.5:9000', 'http://partner.example:9000/')).toBe(true);
  expect(leads('10.0.0.5:9000', 'https://partner.example:9000/')).toBe(true);
  expect(leads('https://10.0.0.5:9000', 'http://partner.example:9000/')).toBe(false);
  expect(leads('10.0.0.5:80', 'http://partner.example/')).toBe(true);
  expect(leads('10.0.0.5:80', 'https://partner.example/')).toBe(false);
  expect(leads('10.0.0.5:443', 'https://partner.example/')).toBe(true);
  expect(leads('10.0.0.5:*', 'https://partner.example:1/')).toBe(true);
  expect(leads('10.0.0.5', 'https://partner.example:1/')).toBe(true);
  expect(leads('http://10.0.0.5', 'https://partner.example/')).toBe(false);
  expect(leads('http://10.0.0.5', 'http://partner.example:1/')).toBe(true);
  expect(leads('10.0.0.6', 'https://partner.example/')).toBe(false);
  expect(leads('[fd00::7]:9000', 'https://partner.example/', 'fd00::7')).toBe(false);
  expect(leads('[fd00::7]:9000', 'https://partner.example:9000/', 'fd00::7')).toBe(true);
});

test.each([
  [
    '',
    'a b',
    'user@host',
    'host/path',
    'host:0',
    'host:70000',
    'host:x',
    '*.example.com',
    'ftp://host',
    'host?x',
    'host#x',
    '[::1',
    '1:2:3',
    'a\\b',
    'http://',
  ],
])('%j is no entry', (...entries) => {
  for (const entry of entries) expect([entry, parseAllowed(entry)]).toEqual([entry, null]);
});
