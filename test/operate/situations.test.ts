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

/** Causes that other tests of this folder play. */
const PLAYED_ELSEWHERE = ['fire-missed', 'schedule-silent', 'backup-old', 'job-late']

test('docs/cli.md has every cause of a need that is played, and no other', () => {
  const [, listed = ''] = /`cause`: (.*?)\. `putAside`/.exec(page('docs/cli.md')) ?? []
  const causes = [...listed.matchAll(/`([a-z-]+)`/g)].map(([, cause = '']) => cause)
  const played = new Set([...SITUATIONS.flatMap(({ need }) => need?.cause ?? []), ...PLAYED_ELSEWHERE])
  expect(causes.toSorted()).toEqual([...played].toSorted())
})
