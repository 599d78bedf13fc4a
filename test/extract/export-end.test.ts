/** Ends of exports: of a line, of a batch, of a segment. */
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { DEFAULT_LIMITS, detectCompression } from '../../src/extract/content.ts'
import { type ExportEnd, readEnd } from '../../src/extract/export-end.ts'
import type { ReadDefinition } from '../../src/extract/read-definition.ts'
import { exportFile } from './export-file.ts'

async function endOf(content: string | Buffer, format: ReadDefinition['format']) {
  const path = await exportFile(content)
  const bytes = Buffer.byteLength(content)
  return readEnd(path, await detectCompression(path, DEFAULT_LIMITS), bytes, { format })
}

const ENDED: ExportEnd = { isEnded: true }
const NOT_ENDED: ExportEnd = { isEnded: false }

test.each<[string, string | Buffer, ExportEnd]>([
  ['a line feed', 'id\n7\n', ENDED],
  ['a carriage return', 'id\r7\r', ENDED],
  ['the end of a file of an old system', 'id\r\n7\x1a', ENDED],
  ['no end', 'id\n7', NOT_ENDED],
  ['nothing at all', '', ENDED],
  ['a line feed of UTF-16', Buffer.from('7\n', 'utf16le'), ENDED],
  ['a digit of UTF-16', Buffer.from('\n7', 'utf16le'), NOT_ENDED],
  ['no end, far behind the beginning', `${'7\n'.repeat(40_000)}7`, NOT_ENDED],
  ['no end, packed', gzipSync(`${'7\n'.repeat(40_000)}7`), NOT_ENDED],
  ['a line feed, packed', gzipSync(`${'7\n'.repeat(40_000)}`), ENDED],
])('lines that end with %s', async (_, content, expected) => {
  expect(await endOf(content, 'csv')).toEqual(expected)
})

test.each(['json', 'xlsx'] as const)('a file of %s has no lines', async (format) => {
  expect(await endOf('[1]', format)).toBeUndefined()
})

const MESSAGE = 'MSH|^~\\&|LAB\rPID|1\rOBX|1|NM|2345-7||91|mg/dL|||||F\r'
const OPEN = (name: string) => ({ cut: `a batch begins with ${name} and does not end` })
const STOPS = { isEnded: false, cut: 'the last message stops within a segment' }

test.each<[string, string, object]>([
  ['both batches ended', `FHS|^~\\&\rBHS|^~\\&\r${MESSAGE}BTS|1\rFTS|1\r`, ENDED],
  ['two batches in a file', `FHS|\rBHS|\r${MESSAGE}BTS|1\rBHS|\r${MESSAGE}BTS|1\rFTS|2\r`, ENDED],
  ['the file not ended', `FHS|\rBHS|\r${MESSAGE}BTS|1\r`, { ...ENDED, ...OPEN('FHS') }],
  ['the batch not ended', `FHS|\rBHS|\r${MESSAGE}FTS|1\r`, { ...ENDED, ...OPEN('BHS') }],
  ['the second batch not ended', `BHS|\r${MESSAGE}BTS|1\rBHS|\r${MESSAGE}`, { ...ENDED, ...OPEN('BHS') }],
  ['a batch behind a byte of MLLP', `\x0bBHS|\r${MESSAGE}`, { ...ENDED, ...OPEN('BHS') }],
  ['the name of a batch in a field', `${MESSAGE}NTE|1|FHS|see FHS|\r`, ENDED],
  ['a segment whose name begins so', `${MESSAGE}BHS2|\r`, ENDED],
  ['a result without a line end', MESSAGE.trimEnd(), NOT_ENDED],
  ['a result without its state', `${MESSAGE}OBX|2|NM|718-7||14`, STOPS],
  ['a result of other separators, whole', 'MSH#^~\\&#LAB\rOBX#1#NM#2345-7##91#mg/dL#####F', NOT_ENDED],
  ['a result of other separators, cut', 'MSH#^~\\&#LAB\rOBX#1#NM#2345-7##91#mg/dL####', STOPS],
  ['a name cut', `${MESSAGE}OB`, STOPS],
  ['a segment that is never the last', `${MESSAGE}MSH|^~\\&|LAB\rPID|2`, STOPS],
  ['a remark, which may be whole', `${MESSAGE}NTE|1|fasting`, NOT_ENDED],
  ['a segment longer than is looked at', `${MESSAGE}PID|${'x'.repeat(5_000)}`, NOT_ENDED],
])('messages with %s', async (_, text, expected) => {
  expect(await endOf(text, 'hl7v2')).toEqual(expected)
})

test('a batch is seen in whatever pieces the file is read', async () => {
  for (const [at] of Array.from({ length: 7 }).entries()) {
    const before = `${'x'.repeat(128 * 1024 - 4 - at)}\r`
    expect(await endOf(`NTE|${before}BHS|\r${MESSAGE}`, 'hl7v2')).toMatchObject(OPEN('BHS'))
    expect(await endOf(`BHS|${before}BTS|1\r`, 'hl7v2')).toEqual(ENDED)
  }
})
