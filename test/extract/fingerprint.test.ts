import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { fingerprint } from '../../src/extract/content.ts'
import { exportFile } from './export-file.ts'

test('is the SHA-256 of the file (FIPS 180-2, appendix B.1 and B.3)', async () => {
  expect(await fingerprint(await exportFile('abc'))).toEqual({
    sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    bytes: 3,
    exportId: 'ba7816bf8f01cfea',
  })
  const million = await fingerprint(await exportFile('a'.repeat(1_000_000)))
  expect(million.sha256).toBe('cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0')
})

test('is that of the file as delivered, not of what it holds', async () => {
  const zipped = gzipSync('abc')
  const { sha256, bytes } = await fingerprint(await exportFile(zipped))
  expect(bytes).toBe(zipped.length)
  expect(sha256).not.toMatch(/^ba7816bf/)
})

test('of a missing file is an error', async () => {
  await expect(fingerprint('/nowhere/export.csv')).rejects.toMatchObject({ code: 'export-unreadable' })
})
