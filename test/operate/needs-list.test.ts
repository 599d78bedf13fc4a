/** The list of needs: what one cause of several jobs, runs or nights becomes, and what one command does to all of them. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ANN, BEN, CLINIC, HEADER, JOB } from '../cli/clinic.ts'
import { unanswered } from '../cli/left-behind.ts'
import { runIds, steadily } from '../cli/nights.ts'
import { PASS } from '../faults/fault-proxy.ts'
import { emptySchema } from '../postgres/server.ts'
import { openScene, wrong } from './scene.ts'
import { BROKEN } from './situations/refused-starts.ts'

const GOLDEN = join(import.meta.dirname, '../cli/golden')

test('no backup for a month: a need of the installation', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN)
  await scene.run()
  await scene.later(31, 'runs')
  expect(await scene.needs()).toMatchObject([{ cause: 'backup-old', jobs: [] }])
  expect(await scene.needs('--job', 'clinic')).toHaveLength(1)
  await scene.look('backup', 'saved.sqlite')
  expect(await scene.needs()).toEqual([])
})

test('a ledger on a server is backed up by the server: nobody is asked for a backup that the command refuses', async () => {
  const scene = await openScene({ environment: { WAYBILL_LEDGER: await emptySchema() } })
  await scene.deliver('a.csv', HEADER + ANN)
  expect((await scene.run()).code).toBe(0)
  // As it stays behind in a home whose ledger has moved.
  await scene.write('home/last-backup', '2020-03-02T07:15:00.000Z')
  await scene.later(31, 'runs')
  expect(await scene.needs()).toEqual([])
})

test('the list as a person sees it at 80 columns', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
  await scene.run()
  await scene.look('pause', 'clinic', '--by', 'ann', '--note', 'the vendor is moving')
  await scene.write('mappings/clinic.yaml', BROKEN)
  await scene.run()
  const { code, out } = await scene.later(8, 'needs')
  expect([code, (await scene.later(8, 'needs', '--exit-code')).code]).toEqual([0, 1])
  await expect(steadily(out, scene)).toMatchFileSnapshot(join(GOLDEN, 'needs.txt'))
})

test('one gateway that is away is one need of all its jobs', async () => {
  const scene = await openScene({ job: 'submit: { readLag: 100ms, patience: 1s }\n' })
  const names = ['clinic', 'north', 'south']
  for (const name of names.slice(1))
    await scene.workplace.job(name, `${JOB}submit: { readLag: 100ms, patience: 1s }\ndrift: { fit: off }\n`)
  await scene.deliver('a.csv', HEADER + ANN)
  scene.strike(() => ({ do: 'reset' }))
  for (const name of names) expect((await scene.look('run', name)).code).toBe(3)
  const [need, ...others] = await scene.needs()
  expect(others).toEqual([])
  expect(need).toMatchObject({ cause: 'run-unfinished', jobs: names, times: 3 })
  scene.strike(() => PASS)
  for (const name of names) expect((await scene.type(`run ${name}`)).code).toBe(0)
  expect(await scene.needs()).toEqual([])
})

test('a run that went to another gateway than the settings name is finished there, or given up', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN)
  scene.strike(() => ({ do: 'answer', status: 403 }))
  expect((await scene.run()).code).toBe(3)
  const there = scene.workplace.environment['WAYBILL_GATEWAY_URL']
  scene.workplace.environment['WAYBILL_GATEWAY_URL'] = 'http://127.0.0.1:1'
  const [need] = await scene.needs()
  const commands = need?.steps.flatMap((step) => step.commands)
  expect(commands).toContain(`WAYBILL_GATEWAY_URL=${there} waybill run clinic`)
  expect((await scene.type('resolve')).code).toBe(0)
  expect((await scene.needs()).map(({ cause }) => cause)).toEqual(['run-failed'])
})

test('a notice that was given up to a target that the job no longer lists is not listed', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
  scene.hook.answer(400)
  expect((await scene.run()).code).toBe(1)
  await scene.look('acknowledge', '--reason', 'unit-unknown')
  await scene.later(1, 'runs')
  expect((await scene.needs()).map(({ cause }) => cause)).toEqual(['notice-undelivered'])
  await scene.workplace.job('clinic', `${JOB}drift: { fit: off }\n`)
  await scene.later(2, 'run', 'clinic')
  await scene.look('acknowledge', '--job', 'clinic')
  expect(await scene.needs()).toEqual([])
})

test('doctor counts the needs that the list shows', async () => {
  const scene = await openScene()
  await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
  await scene.run()
  const { out } = await scene.look('doctor', '--json')
  const Findings = z.object({ findings: z.array(z.looseObject({ check: z.string(), found: z.string() })) })
  const found = Findings.parse(JSON.parse(out)).findings.filter(({ check }) => check === 'needs')
  expect(found.map((one) => one.found)).toEqual((await scene.needs()).map(({ what }) => what))
})

test('three nights of one cause, each an export of its own, are one need, and one command takes them all up', async () => {
  const whole = `exports: { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../done }\naccounts: { register: never }\ndrift: { fit: off }\n`
  const scene = await openScene({ whole })
  for (const day of ['a', 'b', 'c']) {
    await scene.deliver(`${day}.csv`, HEADER + wrong(day))
    expect((await scene.run()).code).toBe(1)
  }
  const [need, ...others] = await scene.needs()
  expect(others).toEqual([])
  expect(need).toMatchObject({ cause: 'left-rejected', code: 'unit-unknown', times: 3, people: 3 })
  expect(need?.what).toContain('in 3 runs')
  const failed = runIds(await scene.look('runs', '--failed', '--json'))
  expect(need?.['runs']).toEqual(failed)

  const chosen = await scene.look(
    'rerun',
    '--job',
    'clinic',
    '--reason',
    'unit-unknown',
    '--dry-run',
    '--json',
  )
  expect(runIds(chosen)).toEqual(failed.toReversed())
  const other = await scene.look('rerun', '--job', 'clinic', '--export', 'b.csv', '--dry-run', '--json')
  expect(runIds(other)).toEqual([failed[1]])
  expect((await scene.look('rerun', '--job', 'clinic', '--since', '2999-01-01')).err).toContain(
    'nothing-left',
  )
  expect((await scene.look('rerun')).err).toContain('name a run, or choose several')

  await scene.write('mappings/clinic.yaml', CLINIC.replace('"unit"', '"unit", table: { parsec: kg }'))
  expect((await scene.type('rerun')).code).toBe(0)
  expect(await scene.needs()).toEqual([])
  expect(await scene.stored()).toHaveLength(9)
})

test('a person who is rejected on two nights counts once, and not at all once erased', async () => {
  const whole = `exports: { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../done }\naccounts: { register: never }\ndrift: { fit: off }\n`
  const scene = await openScene({ whole })
  for (const day of ['02', '03']) {
    await scene.deliver(`${day}.csv`, HEADER + wrong('cid').replace('03-02', `03-${day}`))
    expect((await scene.run()).code).toBe(1)
  }
  expect(await scene.needs()).toMatchObject([{ times: 2, records: 1, people: 1 }])
  await scene.write('ids.csv', 'partnerAccountId\ncid\n')
  expect((await scene.look('accounts', 'erase', '--file', 'ids.csv', '--job', 'clinic', '--yes')).code).toBe(
    0,
  )
  const [need] = await scene.needs()
  expect([need?.times, need?.['people']]).toEqual([2, undefined])
})

test('several runs are acknowledged, or reconciled, at once', async () => {
  const whole = `exports: { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../done }\naccounts: { register: never }\nsubmit: { readLag: 100ms }\ndrift: { fit: off }\n`
  const scene = await openScene({ whole })
  await scene.deliver('a.csv', HEADER + ANN)
  await scene.run()
  for (const day of ['b', 'c']) {
    await scene.deliver(`${day}.csv`, HEADER + BEN.replace('ben', day) + wrong(`${day}2`))
    scene.strike(unanswered('pass-then-reset'))
    expect((await scene.run()).code).toBe(1)
    scene.strike(() => PASS)
  }
  const causes = (await scene.needs()).map(({ cause, times }) => [cause, times])
  expect(causes.toSorted()).toEqual([
    ['left-in-doubt', 2],
    ['left-rejected', 2],
  ])
  const looked = await scene.look('reconcile', '--job', 'clinic', '--json')
  expect([looked.code, JSON.parse(looked.out)]).toMatchObject([0, { runs: [{ inDoubt: 0 }, { inDoubt: 0 }] }])
  expect((await scene.type('acknowledge --job')).out).toContain('in 2 runs')
  expect(await scene.needs()).toEqual([])
})
