/** `openWaybill`: what the command line does with runs, for programs. */
import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openWaybill, type RunEvent, type Waybill } from '../../src/index.ts'
import { ANN, BEN, type Clinic, GOOD, HEADER, openClinic } from '../cli/clinic.ts'
import { INHERITED, PROJECT } from '../cli/command-line.ts'
import { openFaultyClinic } from '../cli/left-behind.ts'
import { gatewaySettings } from '../cli/reference-store.ts'
import { type Fault, PASS } from '../faults/fault-proxy.ts'

const settingsOf = ({ store }: Clinic): Record<string, string> =>
  Object.fromEntries(
    Object.entries(store.environment).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )

const openAt = (clinic: Clinic, more: Partial<Parameters<typeof openWaybill>[0]> = {}): Promise<Waybill> => {
  const { folder, home } = clinic.workplace
  const folders = { home, jobs: join(folder, 'jobs'), mappings: join(folder, 'mappings') }
  return openWaybill({ ...folders, settings: settingsOf(clinic), ...more })
}

it('runs a job, with its events as they come, and shows what it came to', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}${BEN.replace('ben', 'cat').replace('62', 'x')}`)
  const waybill = await openAt(clinic)
  const events: RunEvent[] = []
  const running = waybill.run('clinic')
  for await (const event of running) events.push(event)
  const types = events.map(({ type }) => type)
  expect(types[0]).toBe('runStarted')
  expect(types).toContain('exportEnded')
  expect(types.at(-1)).toBe('runEnded')
  const { summary, exit } = await running.ended
  expect(exit).toBe(1)
  expect(await clinic.stored()).toEqual(expect.arrayContaining(GOOD))

  const shown = await waybill.show()
  expect(shown.summary).toMatchObject({ run: summary.run, state: 'finished', balanced: true })
  expect(shown.reasons.map(({ code, count }) => [code, count])).toEqual([['value-not-a-number', 1]])
  expect(shown.next.flatMap(({ commands }) => commands)).toContain(
    `waybill rerun ${summary.run} --only rejected`,
  )
  expect((await waybill.runs()).map(({ run }) => run)).toEqual([summary.run])

  const again = waybill.run('clinic')
  const { summary: second } = await again.ended
  expect(second.requests.sent).toBe(0)
  const verified = await waybill.reconcile(summary.run, { sample: { kind: 'all' } })
  expect(verified).toMatchObject({
    inDoubt: 0,
    verified: { records: { biometric: { equal: 8, missing: 0 } } },
  })
})

it('keeps the installation well: looks it over, copies the ledger, tells of a run, prunes', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
  const waybill = await openAt(clinic)
  const { summary } = await waybill.run('clinic').ended
  const findings = await waybill.lookOver()
  expect(findings.map(({ check }) => check)).toEqual(
    expect.arrayContaining(['settings', 'home', 'ledger', 'clock', 'gateway', 'job', 'mapping']),
  )
  const copy = join(clinic.workplace.folder, 'copy.sqlite')
  expect((await waybill.backUp(copy)).copy).toBe(copy)
  await expect(waybill.backUp(copy)).rejects.toMatchObject({ code: 'usage-wrong' })
  const { run, page } = await waybill.report()
  expect([run, page.includes(summary.run)]).toEqual([summary.run, true])
  const before = Date.now() + 1
  expect((await waybill.prune(before, { dryRun: true })).runs).toEqual([summary.run])
  expect((await waybill.prune(before)).files.files).toBeGreaterThan(0)
  expect((await waybill.show()).summary.pruned).toBeDefined()
})

it('is told what keeps a job from being run, by its events and by its end, and sends nothing', async () => {
  const clinic = await openClinic()
  const waybill = await openAt(clinic)
  const running = waybill.run('clinic')
  const read = async (): Promise<void> => {
    for await (const _ of running);
  }
  await expect(read()).rejects.toMatchObject({ code: 'exports-none' })
  await expect(running.ended).rejects.toMatchObject({ code: 'exports-none' })
  await expect(waybill.run('unknown').ended).rejects.toMatchObject({ code: 'job-not-found' })
  await expect(openAt(clinic, { settings: { WAYBILL_LOG_LEVEL: 'loud' } })).rejects.toMatchObject({
    code: 'settings-invalid',
  })
})

it('stops when it is told to, and the next run goes on', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
  const told = await openAt(clinic, { signal: AbortSignal.abort() })
  await expect(told.run('clinic').ended).rejects.toMatchObject({ code: 'interrupted' })
  const stopping = new AbortController()
  const running = (await openAt(clinic, { signal: stopping.signal })).run('clinic')
  for await (const { type } of running) if (type === 'runStarted') stopping.abort()
  expect((await running.ended).error).toMatchObject({ code: 'interrupted' })
  const waybill = await openAt(clinic)
  expect((await waybill.show()).next).toEqual([
    { say: 'To continue it where it stopped', commands: ['waybill run clinic'] },
  ])
  expect((await waybill.run('clinic').ended).exit).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD)
})

it('makes files for their owner alone, and reads no setting from the environment of the process', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}`)
  const before = process.env['WAYBILL_GATEWAY_URL']
  process.env['WAYBILL_GATEWAY_URL'] = 'built-in'
  try {
    const { WAYBILL_GATEWAY_URL: _, ...settings } = settingsOf(clinic)
    const running = (await openAt(clinic, { settings })).run('clinic')
    await expect(running.ended).rejects.toMatchObject({ code: 'gateway-not-set' })
  } finally {
    if (before === undefined) delete process.env['WAYBILL_GATEWAY_URL']
    else process.env['WAYBILL_GATEWAY_URL'] = before
  }
  await (await openAt(clinic)).run('clinic').ended
  const { home } = clinic.workplace
  const { stdout } = await promisify(execFile)('find', [home, '-perm', '/077'])
  expect(stdout).toBe('')
})

it('the example runs as it stands', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
  const { folder } = clinic.workplace
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(PROJECT, 'examples/run-a-job.ts'), 'clinic', folder],
    { env: { ...INHERITED, ...settingsOf(clinic) } },
  )
  expect(stdout).toMatch(/^day-1\.csv: 2 rows\n\S+ finished, balanced\n$/)
  expect(await clinic.stored()).toEqual(GOOD)
  await access(join(folder, '.waybill/ledger.sqlite'))
})

it('refuses a second run of a job while the first is under way in the same process, and the first goes on', async () => {
  const answers = Promise.withResolvers<Fault>()
  const arrived = Promise.withResolvers<void>()
  const clinic = await openFaultyClinic()
  await clinic.deliver('day-1.csv', `${HEADER}${ANN}${BEN}`)
  clinic.strike(({ method }) => {
    if (method !== 'POST') return PASS
    arrived.resolve()
    return answers.promise
  })
  const waybill = await openAt(clinic, { settings: gatewaySettings(clinic.proxy.url) })
  const first = waybill.run('clinic')
  await arrived.promise
  await expect(waybill.run('clinic').ended).rejects.toMatchObject({ code: 'job-held' })
  answers.resolve(PASS)
  expect((await first.ended).summary).toMatchObject({ state: 'finished', balanced: true })
  expect(await clinic.stored()).toEqual(GOOD)
})
