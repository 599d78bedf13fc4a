import {
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import {
  openAppended as openAs,
  receiptOf,
  receiptsOf,
  receiptsOfSent,
  receiptsText,
} from '../../src/run/receipts.ts'
import { biometric, entryOf, people } from '../load/made-up-entries.ts'

const linesOf = (text: Uint8Array): unknown[] =>
  gunzipSync(text)
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

it('are read as one when appended chunk by chunk, and name what was accepted, or is found, alone', async () => {
  const [a, b, c, d] = people(4)
  if (a === undefined || b === undefined || c === undefined || d === undefined)
    throw new Error('four were made')
  const reason = { stage: 'submit', code: 'refused', message: 'm', scrubbed: 'm' } as const
  const first: EntryOutcome[] = [
    { entry: a, outcome: 'accepted', batchId: 'batch-1', status: 201, gatewayId: 'an "id"' },
    { entry: b, outcome: 'rejected', batchId: 'batch-1', reason },
    { entry: c, outcome: 'unchanged' },
  ]
  const found: EntryOutcome = { entry: c, outcome: 'unchanged', found: true, readBack: true }
  const second: EntryOutcome[] = [
    { entry: b, outcome: 'accepted', batchId: 'batch-2', status: null, readBack: true },
    // The same record in two rows was sent once.
    ...[found, found],
    { entry: d, outcome: 'unchanged', found: true, readBack: true },
    { entry: a, outcome: 'unchanged', found: true },
  ]
  const before = {
    exportId: 'aaaabbbbccccdddd',
    row: 7,
    rule: 'pulse',
    content: c.content,
    batchId: 'batch-0',
  }
  const sentAs = new Map([[c.content, before]])
  const text = Buffer.concat([
    await receiptsText(receiptsOf(first, new Map())),
    await receiptsText([]),
    await receiptsText(receiptsOf(second, sentAs)),
    await receiptsText([receiptOf(before, 'decision')]),
  ])
  const accepted = { outcome: 'accepted', status: null, learnedFrom: 'read-back' }
  const c8 = `aaaabbbbccccdddd-000007-pulse-${c.content.slice(0, 8)}`
  expect(linesOf(text)).toEqual([
    {
      ...{ transactionId: a.transactionId, outcome: 'accepted', batchId: 'batch-1' },
      status: 201,
      gatewayId: 'an "id"',
    },
    { ...accepted, transactionId: b.transactionId, batchId: 'batch-2' },
    { ...accepted, transactionId: c8, batchId: 'batch-0' },
    { ...accepted, transactionId: d.transactionId, batchId: null },
    { ...accepted, transactionId: c8, batchId: 'batch-0', learnedFrom: 'decision' },
  ])
})

const PlainDrawn = {
  row: fc.constantFrom(1, 2, 30, 1_000_000),
  rule: fc.constantFrom('pulse', 'hba1c-1', 'hba1c-2'),
  value: fc.constantFrom('70', '71', '118.5'),
  batchId: fc.constantFrom('batch-1', 'batch-22', null),
  status: fc.constantFrom(201, 200, null),
}
/** Each character of the id needs six bytes of JSON. */
const LONG_ID = '\u0001'.repeat(99)

/** Most lines have no more than these. */
const AcceptedDrawn = fc.oneof(
  { weight: 4, arbitrary: fc.record(PlainDrawn) },
  {
    weight: 1,
    arbitrary: fc.record({ ...PlainDrawn, gatewayId: fc.constantFrom('g-1', 'an "id"', 'größer', LONG_ID) }),
  },
  { weight: 1, arbitrary: fc.record({ ...PlainDrawn, readBack: fc.constant(true as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...PlainDrawn,
      ageResult: fc.constantFrom({ age: 41 }, { advice: 'größer'.repeat(99) }),
    }),
  },
)

it('say of each record what it is alone, whatever line stands before it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(AcceptedDrawn, { minLength: 1, maxLength: 20 }), async (drawn) => {
      const outcomes = drawn.map(({ row, rule, value, ...accepted }): EntryOutcome => {
        const entry = entryOf(biometric, { row, rule, value, person: `p${row}` })
        return { entry, outcome: 'accepted', ...accepted }
      })
      const lines = linesOf(await receiptsText(receiptsOf(outcomes, new Map())))
      expect(lines).toEqual(
        outcomes.map(({ entry }, at) => {
          const { row: _, rule: _rule, value: _value, ...said } = drawn[at] ?? {}
          const { readBack, ...more } = { readBack: undefined, ...said }
          const learned = readBack === undefined ? {} : { learnedFrom: 'read-back' }
          return { transactionId: entry.transactionId, outcome: 'accepted', ...more, ...learned }
        }),
      )
    }),
  )
})

const OWN = entryOf(biometric, { row: 1, key: 'a', value: '70', rule: 'pulse', person: 'ann' })
const SENT = { exportId: 'aaaabbbbccccdddd', row: 7, rule: 'pulse', content: OWN.content, batchId: 'batch-0' }
const AS_SENT = {
  transactionId: `aaaabbbbccccdddd-000007-pulse-${OWN.content.slice(0, 8)}`,
  batchId: 'batch-0',
}
const STORED = { transactionId: 'eeeebbbbccccdddd-000009-pulse-00000000', batchId: null }

type SentBefore = typeof SENT | null | undefined

it.each<[string, object, SentBefore, readonly object[]]>([
  [
    'read back, as the profile names it',
    { readBack: true, storedAs: STORED.transactionId },
    undefined,
    [STORED],
  ],
  [
    'read back and sent before, as the profile names it',
    { readBack: true, storedAs: STORED.transactionId },
    SENT,
    [STORED],
  ],
  ['read back', { readBack: true }, undefined, [{ transactionId: OWN.transactionId, batchId: null }]],
  ['sent before', {}, SENT, [AS_SENT]],
  ['read back, with a receipt', { readBack: true }, null, []],
  ['with a receipt', {}, null, []],
  ['neither read back nor sent before', {}, undefined, []],
])('a found record, %s', (_what, found, sent, expected) => {
  const outcome: EntryOutcome = { entry: OWN, outcome: 'unchanged', found: true, ...found }
  const sentAs = new Map(sent === undefined ? [] : [[OWN.content, sent]])
  const receipts = receiptsOf([outcome, outcome], sentAs)
  expect(receipts).toEqual(expected.map((one) => ({ ...one, status: null, learnedFrom: 'read-back' })))
})

it('of records that were sent are for those alone that have none', () => {
  const sentAs = new Map([
    ['a', SENT],
    ['b', null],
  ])
  const learnedFrom = 'decision'
  expect(receiptsOfSent(sentAs, learnedFrom)).toEqual([{ ...AS_SENT, status: null, learnedFrom }])
})

it('of a chunk without any are no bytes', async () => {
  expect(await receiptsText([])).toHaveLength(0)
})

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waybill-files-'))
  path = join(folder, 'run', 'rejects.csv')
})
afterEach(() => rm(folder, { recursive: true }))
const openAppended = (file: string, settledLength: number) =>
  openAs(folder, file, settledLength, async () => {})
const text = () => readFile(path, 'utf8')

it('makes nothing before there is something to write, then a file that its owner alone may read', async () => {
  const file = openAppended(path, 0)
  expect(await file.append(new Uint8Array())).toBe(0)
  await expect(stat(path)).rejects.toThrow('ENOENT')
  expect(await file.append(Buffer.from('ab'))).toBe(2)
  expect(await file.append(Buffer.from('cde'))).toBe(5)
  expect(file.length).toBe(5)
  await file.close()
  expect(await text()).toBe('abcde')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'run'))).mode & 0o777).toBe(0o700)
})

/** What is done to open files from now on, each call written down when it has ended; all but a write take their time. */
async function watched(): Promise<string[]> {
  const done: string[] = []
  const any = await open(folder)
  const files: FileHandle = Object.getPrototypeOf(any)
  await any.close()
  for (const what of ['write', 'datasync', 'sync', 'truncate'] as const) {
    const real = files[what]
    const spy = vi.spyOn(files, what).mockImplementation(async function (
      this: FileHandle,
      ...args: unknown[]
    ) {
      const result: unknown = await Reflect.apply(real, this, args)
      if (what !== 'write') for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
      done.push(what === 'datasync' ? 'sync' : what)
      return result
    } as never)
    onTestFinished(() => spy.mockRestore())
  }
  return done
}

it('is on the disk when it has been appended, each time', async () => {
  const done = await watched()
  const file = openAppended(path, 0)
  for (const text of ['ab', 'c']) {
    await file.append(Buffer.from(text))
    done.push('appended')
  }
  await file.close()
  const appended = ['write', 'sync', 'appended']
  expect(done).toEqual(['truncate', ...appended, ...appended])
  await expect(file.append(Buffer.from('d'))).rejects.toMatchObject({ code: 'home-unusable' })
})

it.each([
  [3, 'abcX'],
  [0, 'X'],
])('goes on at the settled length %d, and cuts off what lies beyond', async (settled, expected) => {
  const before = openAppended(path, 0)
  await before.append(Buffer.from('abcTORN'))
  await before.close()
  const after = openAppended(path, settled)
  expect(await after.append(Buffer.from('X'))).toBe(settled + 1)
  await after.close()
  expect(await text()).toBe(expected)
})

it('cuts off what lies beyond also where nothing is added', async () => {
  const before = openAppended(path, 0)
  await before.append(Buffer.from('abcTORN'))
  await before.close()
  const done = await watched()
  await openAppended(path, 3).close()
  expect(done).toEqual(['truncate'])
  expect(await text()).toBe('abc')
})

it('is never written through a folder that is a link', async () => {
  await mkdir(join(folder, 'elsewhere'))
  await symlink(join(folder, 'elsewhere'), join(folder, 'run'))
  const file = openAppended(path, 0)
  await expect(file.append(Buffer.from('ab'))).rejects.toMatchObject({
    code: 'home-unusable',
    message: expect.not.stringContaining('cannot be written'),
  })
})

it('leaves a settled file as it is, and minds none that is not there', async () => {
  await openAppended(path, 0).close()
  await expect(stat(path)).rejects.toThrow('ENOENT')
  const whole = join(folder, 'whole')
  await writeFile(whole, 'abc')
  await openAppended(whole, 3).close()
  expect(await readFile(whole, 'utf8')).toBe('abc')
})

it('begins anew where the file was lost', async () => {
  const file = openAppended(path, 5)
  expect(file.length).toBe(0)
  expect(await file.append(Buffer.from('ab'))).toBe(2)
  await file.close()
  expect(await text()).toBe('ab')
})

it.each(['beforehand', 'never'])(
  'is left alone by a process whose run another has taken over; it has written %s',
  async (when) => {
    let lost = false
    const file = openAs(folder, path, 0, async () => {
      if (lost) throw new Error('taken over')
    })
    if (when === 'beforehand') await file.append(Buffer.from('ab'))
    lost = true
    const theirs = openAppended(path, file.length)
    await theirs.append(Buffer.from('of the other one'))
    await expect(file.append(Buffer.from('late'))).rejects.toThrow('taken over')
    await file.close()
    await theirs.close()
    expect(await text()).toBe(`${when === 'never' ? '' : 'ab'}of the other one`)
  },
)
