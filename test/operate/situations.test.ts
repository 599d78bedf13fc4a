/** An operator's situations, each from its cause to an empty list: the list names the need, and its commands, typed as they stand, end it. */
import { describe, expect, test } from 'vitest'
import { page } from '../docs/pages.ts'
import { emptySchema } from '../postgres/server.ts'
import { expectAgreement } from './agreement.ts'
import { type Ledger, openScene, type Scene, type Situation } from './scene.ts'
import { EXPORTS } from './situations/exports.ts'
import { GATEWAY } from './situations/gateway.ts'
import { HABITS } from './situations/habits.ts'
import { PROCESSES } from './situations/processes.ts'
import { RECORDS } from './situations/records.ts'
import { REFUSED_STARTS } from './situations/refused-starts.ts'
import { SERVER } from './situations/server.ts'

const SITUATIONS: readonly Situation[] = [
  ...REFUSED_STARTS,
  ...EXPORTS,
  ...RECORDS,
  ...GATEWAY,
  ...PROCESSES,
  ...HABITS,
  ...SERVER,
]

/** Most suggested commands that a person types to end a situation. */
const MOST_TYPED = 3

/** Situations in which PostgreSQL takes another way than the file. `npm run situations` plays all. */
const TELLING_ON_POSTGRES = [5, 7, 9, 10, 38, 42, 43, 44, 47]
const isAll = process.env['WAYBILL_SITUATIONS'] === 'all'

const played = (on: Ledger): readonly Situation[] =>
  SITUATIONS.filter(
    ({ row, ledger = on }) => ledger === on && (on === 'file' || isAll || TELLING_ON_POSTGRES.includes(row)),
  )

async function openedOn(on: Ledger, { options }: Situation): Promise<Scene> {
  const made = typeof options === 'function' ? options() : options
  const server = on === 'file' ? {} : { WAYBILL_LEDGER: await emptySchema() }
  return openScene({ ...made, environment: { ...made?.environment, ...server } })
}

for (const on of ['file', 'postgres'] as const)
  describe(`ledger: ${on}`, () => {
    for (const situation of played(on))
      test(`${situation.row}: ${situation.name}`, situation.requires ?? {}, async () => {
        await play(situation, await openedOn(on, situation))
      })
  })

async function play({ night, exit, need, end }: Situation, scene: Scene): Promise<void> {
  expect(await scene.needs()).toEqual([])
  const ended = await night(scene)
  expect(ended.code, ended.err).toBe(exit)
  const listed = await scene.needs()
  expect(listed).toMatchObject(need === undefined ? [] : [{ jobs: ['clinic'], ...need }])
  expect(listed).toHaveLength(need === undefined ? 0 : 1)
  await expectAgreement(scene, exit, listed)
  await end(scene)
  expect(scene.typed()).toBeLessThanOrEqual(MOST_TYPED)
  expect(await scene.needs()).toEqual([])
  await expectAgreement(scene, null, [])
}

/** Rows of the runbook that other tests of this folder play. */
const PLAYED_ELSEWHERE = [46, 50]

interface TableRow {
  readonly row: number
  readonly exit: string
  readonly need: string
}

const TABLE: readonly TableRow[] = [
  ...page('docs/runbook.md').matchAll(/^\| (\d+) \|[^|]*\|([^|]*)\|([^|]*)\|/gm),
].map(([, row, exit = '', need = '']) => ({
  row: Number(row),
  exit: exit.trim(),
  need: need.trim(),
}))

test('the table of the runbook has fifty situations, and each is played', () => {
  expect(TABLE.map(({ row }) => row)).toEqual(Array.from({ length: 50 }, (_, at) => at + 1))
  const rows = new Set([...SITUATIONS.map(({ row }) => row), ...PLAYED_ELSEWHERE])
  expect(TABLE.filter(({ row }) => !rows.has(row))).toEqual([])
})

test('the table of the runbook says of each situation what is played', () => {
  for (const { row, exit, need } of SITUATIONS) {
    const said = TABLE.find((one) => one.row === row)
    const cause = need === undefined ? '–' : `\`${need.cause}\``
    expect([row, said?.need]).toEqual([row, expect.stringContaining(cause)])
    const words = exit === null ? /^–$/ : new RegExp(`\\b${exit}\\b|^(–|as the run)$`)
    expect([row, said?.exit]).toEqual([row, expect.stringMatching(words)])
  }
})
