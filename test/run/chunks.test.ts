import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { countChunk } from '../../src/model/balance.ts'
import type { RowOutcome } from '../../src/model/entry.ts'
import type { CsvRow, Row } from '../../src/model/row.ts'
import { CHUNK_SIZE, type Chunk, createPipeline, createStopWhen, cutChunks } from '../../src/run/chunks.ts'
import { biometric, EXPORT_ID, IDENTITY, mappedRow, medicalRequest } from '../load/made-up-entries.ts'

type ChunkRange = Parameters<typeof cutChunks>[4]

const rowsOf = (count: number): CsvRow[] =>
  Array.from({ length: count }, (_, at) => ({
    kind: 'cells',
    row: at + 1,
    line: at + 2,
    byteOffset: at * 10,
    cells: [],
  }))
async function* inBlocks(rows: CsvRow[], size: number) {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
}
async function cut(
  rows: CsvRow[],
  block: number,
  range: Partial<ChunkRange> = {},
  records = 1,
): Promise<Chunk[]> {
  const made = biometric()
  const mapper = ({ row }: { row: number }) =>
    mappedRow(row % 7 === 0 ? [] : Array<typeof made>(records).fill(made), { row })
  const chunks: Chunk[] = []
  for await (const chunk of cutChunks(inBlocks(rows, block), mapper, IDENTITY, EXPORT_ID, {
    number: 1,
    skip: 0,
    limit: Number.POSITIVE_INFINITY,
    cutBefore: new Map(),
    ...range,
  }))
    chunks.push(chunk)
  return chunks
}
const shape = (chunks: Chunk[]) =>
  chunks.map((chunk) => [chunk.number, chunk.start.row, chunk.rows.length, chunk.entries.length])
const ordinals = (chunks: Chunk[]) => chunks.flatMap((chunk) => chunk.rows.map(({ source }) => source.row))

it('holds every row once, in order, and cuts the same whatever the blocks', async () => {
  const rows = rowsOf(2 * CHUNK_SIZE.rows + 17)
  const expected = shape(await cut(rows, rows.length))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 9000 }), async (block) => {
      const chunks = await cut(rows, block)
      expect(ordinals(chunks)).toEqual(rows.map(({ row }) => row))
      expect(shape(chunks)).toEqual(expected)
    }),
    { numRuns: 6 },
  )
})

it('closes with the row that brings it to so many rows or records', async () => {
  const { rows, records } = CHUNK_SIZE
  expect((await cut(rowsOf(rows + 1), 1000)).map((chunk) => chunk.rows.length)).toEqual([rows, 1])
  const wide = await cut(rowsOf(rows), 1000, {}, 40)
  // Six rows of seven have records.
  expect(wide.length).toBe(Math.ceil((rows * 40 * 6) / 7 / records))
  for (const chunk of wide.slice(0, -1)) expect(chunk.entries.length).toBeGreaterThanOrEqual(records)
  for (const chunk of wide) expect(chunk.entries.length).toBeLessThan(records + 40)
})

it.each([
  ['makes no records of rows that are recognised', 'a-known b', 9, [2]],
  ['makes those of a person with another row before', 'a a-known b-known', 9, [1, 2]],
  ['makes those of a person with another row behind', 'a-known b-known a', 9, [1, 3]],
  ['makes those of a person with another row in a chunk before', 'a b-known a-known', 1, [1, 3]],
  ['makes all of a chunk that was begun before', 'a-known b-known c-known', 2, [1, 2], new Map([[1, 2]])],
  ['forgets the people of chunks long settled', `a ${'b-known '.repeat(10_000)}a-known`, 2_500, [1]],
])('%s', async (_what, written, size, made, cutBefore = new Map()) => {
  const people = written.split(' ').map((one) => one.split('-'))
  const rowOf = ({ row }: { row: number }) => ({ person: people[row - 1]?.[0] ?? '', row })
  const mapper = (row: Row) => mappedRow([biometric()], rowOf(row))
  const known = {
    find: async (rows: readonly Row[]) =>
      rows.map((row) =>
        people[row.row - 1]?.[1] === 'known'
          ? { ...mappedRow([], rowOf(row)), known: { biometrics: 1, conditions: 0 } }
          : undefined,
      ),
  }
  const range = { number: 1, skip: 0, limit: Number.POSITIVE_INFINITY, rows: size, cutBefore }
  const blocks = inBlocks(rowsOf(people.length), 2)
  const chunks: Chunk[] = []
  for await (const chunk of cutChunks(blocks, mapper, IDENTITY, EXPORT_ID, range, known)) chunks.push(chunk)
  expect(chunks.flatMap(({ entries }) => entries.map(({ row }) => row.row))).toEqual(made)
  const counts = chunks.map(({ rows }) => countChunk(rows, [], 0).records.biometric)
  const sum = (of: 'made' | 'unchanged' | 'pending') => counts.reduce((all, one) => all + one[of], 0)
  const recognised = people.length - made.length
  expect([sum('made'), sum('unchanged'), sum('pending')]).toEqual([people.length, recognised, made.length])
})

it('cuts the rows before a part that cannot be read, also where rows are looked up together', async () => {
  async function* unreadable() {
    yield* inBlocks(rowsOf(10), 3)
    throw new Error('unexpected end of file')
  }
  const range = { number: 1, skip: 0, limit: Number.POSITIVE_INFINITY, rows: 4, cutBefore: new Map() }
  const mapper = ({ row }: Row) => mappedRow([biometric()], { row })
  const known = { find: async () => [] }
  const chunks: Chunk[] = []
  const cutting = async () => {
    for await (const one of cutChunks(unreadable(), mapper, IDENTITY, EXPORT_ID, range, known))
      chunks.push(one)
  }
  await expect(cutting()).rejects.toThrow('unexpected end of file')
  expect(ordinals(chunks)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

it('gives the same rest when it goes on behind a settled chunk', async () => {
  const rows = rowsOf(3 * CHUNK_SIZE.rows - 5)
  const whole = await cut(rows, 999)
  const [first] = whole
  const rest = await cut(rows, 1234, { number: 2, skip: first?.rows.length ?? 0 })
  expect(shape(rest)).toEqual(shape(whole.slice(1)))
  expect(rest.flatMap((chunk) => chunk.entries.map((entry) => entry.transactionId))).toEqual(
    whole.slice(1).flatMap((chunk) => chunk.entries.map((entry) => entry.transactionId)),
  )
})

it('takes no more rows than the limit', async () => {
  for (const limit of [0, 1, 10, 25, 30])
    expect(ordinals(await cut(rowsOf(25), 10, { limit }))).toHaveLength(Math.min(limit, 25))
  expect(ordinals(await cut(rowsOf(25), 10, { skip: 5, limit: 3 }))).toEqual([6, 7, 8])
})

it('of no rows cuts no chunk', async () => {
  expect(await cut([], 10)).toEqual([])
})

/** Outcome of a row, written as its person; a mark behind the name says what becomes of it. */
function outcomeOf(written: string, row: number): RowOutcome {
  const [person = '', is = 'mapped', request] = written.split('-')
  const made = mappedRow(is === 'asks' ? [askFor(request ?? '')] : [biometric()], { person, row })
  const { line, byteOffset, account } = made
  const place = { row, line, byteOffset, account, warnings: [], leftOut: [], reason: 'nothing-kept' }
  const issue = { stage: 'transform', code: 'date-invalid', message: 'm' } as const
  if (is === 'rejected') return { ...place, outcome: is, issue }
  if (is === 'skipped') return { ...place, outcome: is }
  return is === 'without' ? mappedRow([], { person, row }) : made
}

const askFor = (reference: string) =>
  medicalRequest({ reference, body: '{}', isWithdrawn: false, authorization: undefined })

test.each([
  ['nobody', 'a b | c d', []],
  ['a person', 'a b | a c', ['a']],
  ['all people', 'a b | b a', ['a', 'b']],
  ['a person of a rejected row', 'a b-rejected | b c', ['b']],
  ['a person of a skipped row', 'a b-skipped | b c', ['b']],
  ['a person of whom nothing is sent: an unlisted care team may go', 'a b | b-without c', ['b']],
  ['everybody of a chunk with a request of both', 'a-asks-1 b-asks-2 | c-asks-3 d-asks-2', ['c', 'd']],
  ['no person of requests of their own', 'a-asks-1 b-asks-2 | c-asks-3 d-asks-4', []],
  ['a person of the chunk before alone', 'a b | c d | a c', ['c']],
])(
  'puts behind the chunk before %s, also where the run goes on there: %s',
  async (_who, written, expected) => {
    const outcomes = written.split(' ').filter((one) => one !== '|')
    const mapper = ({ row }: Row) => outcomeOf(outcomes[row - 1] ?? '', row)
    const lastOf = async (range: Pick<ChunkRange, 'number' | 'skip'>, from: number) => {
      const all = { limit: Number.POSITIVE_INFINITY, rows: 2, cutBefore: new Map(), ...range }
      const blocks = inBlocks(rowsOf(outcomes.length).slice(from), 3)
      const chunks = await Array.fromAsync(cutChunks(blocks, mapper, IDENTITY, EXPORT_ID, all))
      return [...(chunks.at(-1)?.behind ?? [])].filter((one) => !one.startsWith('request')).toSorted()
    }
    expect(await lastOf({ number: 1, skip: 0 }, 0)).toEqual(expected)
    // Behind a settled chunk: reading begins with its rows.
    expect(await lastOf({ number: outcomes.length / 2, skip: 2 }, outcomes.length - 4)).toEqual(expected)
  },
)

const chunk = (number: number): Chunk => ({
  number,
  start: { row: 1, line: 1, byteOffset: 0 },
  rows: [],
  entries: [],
  withdrawn: [],
  shared: [],
  behind: new Set(),
})

function start() {
  const begun: number[] = []
  const settled: number[] = []
  const gates = new Map<number, PromiseWithResolvers<void>>()
  const gate = (number: number) => {
    const one = gates.get(number) ?? Promise.withResolvers<void>()
    gates.set(number, one)
    return one
  }
  const pipeline = createPipeline(
    async ({ number }) => {
      begun.push(number)
      await gate(number).promise
      return number
    },
    async ({ number }, loaded) => {
      expect(loaded).toBe(number)
      settled.push(number)
    },
  )
  return { begun, settled, gate, pipeline }
}

it('loads several at once and settles them in order', async () => {
  const { begun, settled, gate, pipeline } = start()
  await pipeline.add(chunk(1))
  await pipeline.add(chunk(2))
  expect(begun).toEqual([1, 2])
  gate(2).resolve()
  await setImmediate()
  expect(settled).toEqual([])
  gate(1).resolve()
  await pipeline.drain()
  expect(settled).toEqual([1, 2])
})

it('holds back what there is no room for', async () => {
  const { begun, gate, pipeline } = start()
  const added = (async () => {
    for (const number of [1, 2, 3, 4, 5, 6]) await pipeline.add(chunk(number))
  })()
  await setImmediate()
  expect(begun.length).toBeLessThan(6)
  for (const number of [1, 2, 3, 4, 5, 6]) gate(number).resolve()
  await added
  await pipeline.drain()
  expect(begun).toEqual([1, 2, 3, 4, 5, 6])
})

it('tells a chunk when the one before is settled, and of its failure', async () => {
  const gates = [1, 2, 3].map(() => Promise.withResolvers<void>())
  const went: number[] = []
  const pipeline = createPipeline(
    async ({ number }, beforeSettled) => {
      await beforeSettled()
      went.push(number)
      await gates[number - 1]?.promise
    },
    async () => {},
  )
  await pipeline.add(chunk(1))
  await pipeline.add(chunk(2))
  await setImmediate()
  expect(went).toEqual([1])
  gates[0]?.resolve()
  await pipeline.add(chunk(3))
  await setImmediate()
  expect(went).toEqual([1, 2])
  gates[1]?.reject(new Error('broken'))
  await expect(pipeline.drain()).rejects.toThrow('broken')
  expect(went).toEqual([1, 2])
})

it('settles nothing after a failure, throws it from then on, and leaves nothing under way', async () => {
  const { settled, gate, pipeline } = start()
  await pipeline.add(chunk(1))
  await pipeline.add(chunk(2))
  gate(1).reject(new Error('broken'))
  let drained = false
  const draining = pipeline.drain().finally(() => {
    drained = true
  })
  draining.catch(() => undefined)
  await setImmediate()
  expect(drained).toBe(false)
  gate(2).resolve()
  await expect(draining).rejects.toThrow('broken')
  await expect(pipeline.add(chunk(3))).rejects.toThrow('broken')
  expect(settled).toEqual([])
})

it('begins a chunk when its turn has come; where it has none, what is under way goes on and is settled', async () => {
  const settled: number[] = []
  const gate = Promise.withResolvers<void>()
  const asked: number[] = []
  const pipeline = createPipeline(
    async ({ number }) => {
      await gate.promise
      return number
    },
    async ({ number }) => {
      settled.push(number)
    },
    async ({ number }) => {
      asked.push(number)
      if (number === 2) throw new Error('another one goes first')
    },
  )
  await pipeline.add(chunk(1))
  await expect(pipeline.add(chunk(2))).rejects.toThrow('another one goes first')
  expect(settled).toEqual([])
  gate.resolve()
  await pipeline.drain()
  expect([asked, settled]).toEqual([[1, 2], [1]])
})

const rowsThat = (mapped: number, rejected: number, skipped: number): Chunk['rows'] => {
  const issue = { stage: 'transform', code: 'date-invalid', message: 'm' } as const
  const source: CsvRow = { kind: 'cells', row: 1, line: 2, byteOffset: 0, cells: [] }
  const place = { row: 1, line: 2, byteOffset: 0 }
  return [
    ...Array.from({ length: mapped }, () => ({ source, outcome: mappedRow([], { row: 1 }) })),
    ...Array.from({ length: rejected }, () => ({
      source,
      outcome: { ...place, outcome: 'rejected' as const, issue },
    })),
    ...Array.from({ length: skipped }, () => ({
      source,
      outcome: { ...place, outcome: 'skipped' as const, leftOut: [], reason: 'x', warnings: [] },
    })),
  ]
}

it.each<[string, Parameters<typeof createStopWhen>, [number, number, number], string | undefined]>([
  ['as many as allowed', [{ rejectedRows: 0.1, after: 10 }], [9, 1, 0], undefined],
  ['one more', [{ rejectedRows: 0.1, after: 10 }], [8, 2, 0], '2 of 10 rows were rejected (20.0 %)'],
  ['too few rows to judge', [{ rejectedRows: 0.1, after: 11 }], [8, 2, 0], undefined],
  ['skipped, where rejected ones are limited', [{ rejectedRows: 0.1, after: 1 }], [1, 0, 9], undefined],
  ['rejected, where skipped ones are limited', [{ skippedRows: 0.1, after: 1 }], [1, 9, 0], undefined],
  ['skipped', [{ skippedRows: 0.1, after: 1 }], [1, 0, 9], '9 of 10 rows were skipped (90.0 %)'],
  ['all, without a limit', [undefined], [0, 9, 9], undefined],
  [
    'rejected before it was resumed',
    [
      { rejectedRows: 0.5, skippedRows: 0.5, after: 20 },
      { read: 15, rejected: 11, skipped: 4 },
    ],
    [5, 0, 0],
    '11 of 20 rows were rejected (55.0 %)',
  ],
  [
    'skipped before it was resumed',
    [
      { rejectedRows: 0.5, skippedRows: 0.5, after: 20 },
      { read: 15, rejected: 4, skipped: 11 },
    ],
    [5, 0, 0],
    '11 of 20 rows were skipped (55.0 %)',
  ],
  [
    'fewer than allowed of all that was read',
    [
      { rejectedRows: 0.5, after: 20 },
      { read: 100, rejected: 1, skipped: 0 },
    ],
    [0, 9, 0],
    undefined,
  ],
])('stops a run by its rows: %s', (_what, [limit, before], rows, message) => {
  const look = () => createStopWhen(limit, before).look(rowsThat(...rows), false)
  if (message === undefined) expect(look).not.toThrow()
  else expect(look).toThrow(expect.objectContaining({ code: 'threshold-passed' }))
  if (message !== undefined) expect(look).toThrow(message)
})

it('what an earlier process has begun counts, and stops nothing', () => {
  const stopWhen = createStopWhen({ rejectedRows: 0.5, after: 1 })
  stopWhen.look(rowsThat(0, 2, 0), true)
  expect(() => stopWhen.look(rowsThat(1, 0, 0), false)).toThrow('2 of 3 rows were rejected')
})
