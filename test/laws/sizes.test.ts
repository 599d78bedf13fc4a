/** Limits of sizes, each at its edge and on both sides of it: what is as large is taken whole, a byte more is not. */
import { expect, test } from 'vitest'
import { openSample } from '../../packages/mapping-tools/src/draft/read-sample.ts'
import { unreadableRow } from '../../src/extract/framing.ts'
import { openExport, readRecords } from '../../src/extract/open-export.ts'
import { messageFrame } from '../../src/extract/open-hl7v2.ts'
import { frameValue, ndjsonFormat } from '../../src/extract/open-json.ts'
import { readStrings } from '../../src/extract/open-xlsx.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'
import { endingOf } from '../../src/model/errors.ts'
import { plainSending } from '../../src/run/senders.ts'
import { readSettings } from '../../src/system/settings.ts'
import { closedPort } from '../closed-port.ts'
import { brief, collect, exportFile } from '../extract/export-file.ts'
import { client, json, serve } from '../gateway/loopback.ts'
import { createIdleClock } from '../load/idle-clock.ts'

const KIB = 1024
const MIB = 1024 * KIB
const CSV = { format: 'csv' }
const ACCOUNT = { reference: 'p', type: 'partnerAccountId' } as const
const text = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`
/** The same as bytes, which are many. */
const filled = (bytes: number, first: string, fill: string, last: string): Buffer => {
  const all = Buffer.alloc(bytes, fill)
  all.write(first)
  all.write(last, bytes - last.length)
  return all
}

test.each([
  ['a text', (bytes: number) => filled(bytes, '"', 'x', '"')],
  ['a list', (bytes: number) => filled(bytes, '["', 'x', '"]')],
  ['a number', (bytes: number) => Buffer.alloc(bytes, '1')],
])('%s of 16 MiB is a value of JSON, and a byte more is too large', (_, make) => {
  expect(frameValue(make(16 * MIB), 0, true)).toEqual({ end: 16 * MIB, lines: 0, lineStart: -1 })
  expect(frameValue(make(16 * MIB + 1), 0, true)?.problem).toBe('large')
})

test('a line of 16 MiB is framed, and a byte more is a fault', () => {
  const faultOf = (bytes: number) => ndjsonFormat.frame(Buffer.alloc(bytes, 'x'), 0, true)?.fault?.fault
  expect([faultOf(16 * MIB), faultOf(16 * MIB + 1)]).toEqual([undefined, 'row-too-large'])
})

test('a message of HL7 of 16 MiB is framed, and a byte more is a fault', () => {
  const head = 'MSH|^~\\&|LAB\rNTE|1||'
  const next = '\rMSH|^~\\&|LAB\r'
  const faultOf = (bytes: number) =>
    messageFrame(filled(bytes + next.length - 1, head, 'x', next), 0, true)?.fault?.fault
  expect([faultOf(16 * MIB), faultOf(16 * MIB + 1)]).toEqual([undefined, 'row-too-large'])
})

test('a row of records of 16 MiB is read, and of one with a byte more each line is a row', () => {
  const read = readDefinition.parse({
    format: 'records',
    quote: 'none',
    row: 'P',
    types: { P: ['id'], O: ['text'] },
  })
  const problemOf = (bytes: number) => {
    const lines = `P,1\n${`O,${'x'.repeat(MIB / 2 - 3)}\n`.repeat(31)}`
    const text = `${lines}O,${'x'.repeat(bytes - lines.length - 2)}`
    const reading = read.format === 'records' ? readRecords(text, read) : undefined
    return reading !== undefined && 'problem' in reading ? reading.problem : undefined
  }
  expect([problemOf(16 * MIB), problemOf(16 * MIB + 1)]).toEqual([undefined, 'it has more than one row'])
})

test('128 MiB of shared strings are held, and another character is refused', async () => {
  // Three bytes in UTF-8 for each: the room that is asked for is the room that is taken.
  const piece = Buffer.from('語'.repeat(KIB ** 2 / 4))
  const [text, last] = [Buffer.from('<si><t>'), Buffer.from('</t></si>')]
  let isHeld = false
  async function* content() {
    yield Buffer.from('<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">')
    let left = 128 * MIB
    for (const bytes of [2, 42 * MIB, 42 * MIB, 44 * MIB - 2]) {
      left -= bytes
      yield text
      if (bytes === 2) yield Buffer.from('ab')
      else for (let at = 0; at < bytes; at += piece.length) yield piece.subarray(0, bytes - at)
      yield last
    }
    expect(left).toBe(0)
    isHeld = true
    yield Buffer.from('<si><t>x</t></si></sst>')
  }
  const refused = await readStrings('a.xlsx', { read: content }, 'strings').catch(endingOf)
  expect([isHeld, refused]).toMatchObject([true, { code: 'export-too-large' }])
})

test.each([
  ['x'.repeat(64 * KIB), 64 * KIB],
  ['x'.repeat(64 * KIB + 1), 64 * KIB],
  // A character of two bytes that stands across the edge is left out whole.
  [`${'x'.repeat(64 * KIB - 1)}é`, 64 * KIB - 1],
])('of an unreadable row 64 KiB are kept', (written, kept) => {
  const bytes = Buffer.from(written)
  const frame = { row: 1, line: 1, byteOffset: 0, start: 0, end: bytes.length, lines: 1, cutOff: false }
  const row = unreadableRow(bytes, frame, { fault: 'row-json-invalid', message: '' })
  expect(row.text).toBe(written.slice(0, kept))
})

test('a member of the context of 1 MiB is read, and a byte more is refused', async () => {
  const read = readDefinition.parse({ format: 'json', records: '$.rows[*]', context: { note: '$.note' } })
  const open = async (bytes: number) =>
    openExport(await exportFile(`{"note":${text(bytes)},"rows":[1]}`), read)
  expect((await collect((await open(MIB)).rows())).map(brief)).toEqual(['1'])
  await expect(open(MIB + 1)).rejects.toMatchObject({ code: 'export-unreadable' })
})

test('a trailer is found where a line before it stands whole within the last 64 KiB', async () => {
  const read = readDefinition.parse({ format: 'csv', trailer: { lines: 1 } })
  const open = async (bytes: number) =>
    openExport(await exportFile(`a\n${'1\n'.repeat(64 * KIB)}T${'x'.repeat(bytes - 2)}\n`), read)
  const before = '1\n1\n'.length
  expect(await collect((await open(64 * KIB - before)).rows())).toHaveLength(64 * KIB)
  await expect(open(64 * KIB - before + 1)).rejects.toMatchObject({ code: 'export-unreadable' })
})

/** `{"data":[…]}` of so many bytes. */
const padded = (body: unknown, bytes: number): string => {
  const least = JSON.stringify(body)
  return least.slice(0, -1) + ' '.repeat(bytes - least.length) + least.slice(-1)
}

test.each([
  ['that repeats a small request', 4, 'POST'],
  ['to a read', 32, 'GET'],
])('an answer %s is taken up to %i MiB, and no longer', async (_, mebibytes, method) => {
  let bytes = mebibytes * MIB
  const server = await serve((seen) => {
    expect(seen.method).toBe(method)
    return { ...json(200, {}), body: padded({ code: 200, data: [], errors: [] }, bytes) }
  })
  const { biometrics } = client(server.url)
  const ask = () =>
    method === 'GET' ? biometrics.read(ACCOUNT) : biometrics.sendBulk(Buffer.from('[{}]'), 1)
  await expect(ask()).resolves.toBeDefined()
  bytes += 1
  await expect(ask()).rejects.toThrow(`longer than ${mebibytes * MIB} bytes`)
})

test('what no run is needed for waits ten minutes for a gateway, and no longer', async () => {
  const gateway = client(`http://127.0.0.1:${await closedPort()}`)
  const clock = createIdleClock(0)
  const { signal: interrupt } = new AbortController()
  const timing = { now: () => clock.now, random: () => 0, sleep: clock.sleep }
  const { read } = plainSending({ ...timing, dispatcher: createDispatcher(timing), interrupt }, gateway, 1)
  const asking = read('read', async () => [await gateway.biometrics.read(ACCOUNT)])
  await expect(asking).rejects.toMatchObject({ code: 'gateway-unreachable' })
  // The next wait, of a minute at most, would end behind them.
  expect(clock.now).toBeGreaterThan(9 * 60_000)
  expect(clock.now).toBeLessThanOrEqual(10 * 60_000)
})

test('a sample is its first 5,000 rows', async () => {
  const sampled = async (rows: number) => {
    const { rows: read, whole } = await openSample(await exportFile(`a\n${'1\n'.repeat(rows)}`), CSV)
    return [read.length, whole]
  }
  expect([await sampled(5_000), await sampled(5_001)]).toEqual([
    [5_000, true],
    [5_000, false],
  ])
})

test('a sample is the rows that begin within 16 MiB behind its first', async () => {
  const row = `${'x'.repeat(4 * KIB - 1)}\n`
  const sampled = async (first: string) => {
    const { rows, whole } = await openSample(await exportFile(`a\n${first}${row.repeat(4 * KIB)}`), CSV)
    return [rows.length, whole]
  }
  expect([await sampled(row), await sampled(`x${row}`)]).toEqual([
    [4 * KIB + 1, true],
    [4 * KIB, false],
  ])
})

test('a run begins with 64 MiB that are free, where nothing else is said', () => {
  expect(readSettings({}, '/', 'ignored').minFree).toBe(64 * MIB)
})
