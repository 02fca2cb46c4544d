import { installedSize, packedBytes } from './size';

/** @slow */

test('a client alone installs at most 60 MB, counted by the lock file and what is packed', async () => {
  const packed = await packedBytes();
  const { bytes, packages } = installedSize([], packed);
  expect(packed).toBeGreaterThan(5_000_000);
  expect(packages).toBeGreaterThan(60);
  expect(bytes).toBeGreaterThan(50_000_000);
  expect(bytes).toBeLessThan(60_000_000);
});
