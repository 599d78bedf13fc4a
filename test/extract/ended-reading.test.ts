import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { verifyChecksum } from '../../src/extract/arrival/verify-delivery.ts'
import { DEFAULT_LIMITS, fingerprint } from '../../src/extract/content.ts'
import { openExport } from '../../src/extract/open-export.ts'
import { receiveFile } from '../../src/extract/sources/receive-file.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { CSV, exportFile } from './export-file.ts'

const END = new WaybillError('gave-way', 'somebody else goes first')
/** Of several pieces, however large these are. */
const TEXT = `id,remark\n${'7,nothing to tell\n'.repeat(40_000)}`

test.each([
  ['plain', TEXT],
  ['gzip', gzipSync(TEXT)],
])(
  'the rows of an export end between one piece and the next when nobody wants them any more: %s',
  async (_kind, content) => {
    const stopping = new AbortController()
    const limits = { ...DEFAULT_LIMITS, signal: stopping.signal }
    const opened = await openExport(await exportFile(content), CSV, limits)
    let rows = 0
    const read = async (): Promise<void> => {
      for await (const block of opened.rows()) {
        rows += block.length
        stopping.abort(END)
      }
    }
    await expect(read()).rejects.toBe(END)
    expect(rows).toBeGreaterThan(0)
    expect(rows).toBeLessThan(20_000)
    await expect(openExport(await exportFile(content), CSV, limits)).rejects.toBe(END)
  },
)

test('so do fingerprints and checksums, and neither calls the export unreadable', async () => {
  const path = await exportFile(TEXT)
  const signal = AbortSignal.abort(END)
  await expect(fingerprint(path, signal)).rejects.toBe(END)
  const checksum = { algorithm: 'sha256', digest: '0'.repeat(64) } as const
  await expect(verifyChecksum(path, path, checksum, signal)).rejects.toBe(END)
})

test('so does what is fetched: nothing of it is taken for the file', async () => {
  const stopping = new AbortController()
  const file = join(dirname(await exportFile('')), 'fetched.csv')
  let isClosed = false
  const read = async function* () {
    try {
      yield Buffer.from('one')
      stopping.abort(END)
      yield Buffer.from('two')
    } finally {
      isClosed = true
    }
  }
  await expect(receiveFile(file, 6, file, read, stopping)).rejects.toBe(END)
  expect(isClosed).toBe(true)
  expect(await readdir(dirname(file))).not.toContain('fetched.csv')
})
