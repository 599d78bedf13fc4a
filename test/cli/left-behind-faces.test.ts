import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANN, BEN, HEADER } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { openFaultyClinic, runInDoubt } from './left-behind.ts'

const golden = (name: string): string => join(import.meta.dirname, 'golden', `${name}.txt`)

test('what the commands for what was left behind say, and what show says of it', async () => {
  const clinic = await openFaultyClinic({ environment: { WAYBILL_KEY: 'a key that stays the same' } })
  const { waybill } = clinic.workplace
  /** Without what differs from run to run: ids, seconds, instants, the gateway's port. */
  const steady = (text: string): string =>
    text
      .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, 'RUN')
      .replaceAll(/ by [^:\s]+: (?=accept|resend|give-up)/g, ' by SOMEBODY: ')
      .replaceAll(/(accept|resend|give-up), by \S+/g, '$1, by SOMEBODY')
      .replaceAll(/after \d+\.\d s/g, 'after N s')
      .replaceAll(/since \d{4}-\d\d-\d\d/g, 'since 2026-03-03')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'INSTANT')
      .replaceAll(clinic.proxy.url, 'GATEWAY')
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}dan,2026-03-02,400,,,,\n`)
  const { run } = await runInDoubt(clinic, 'pass-then-reset')
  await expect(steady((await waybill('show', run)).out)).toMatchFileSnapshot(golden('show-left-behind'))

  const [id = ''] = (await clinic.store.records('biometric')).map((one) => one.source.meta.persistentRecordId)
  const accepted = await waybill('resolve', run, '--accept', '--transaction', id)
  await expect(steady(accepted.out)).toMatchFileSnapshot(golden('resolve'))
  await expect(steady((await waybill('trace', id)).out)).toMatchFileSnapshot(golden('trace-decided'))
  const reconciled = await waybill('reconcile', run, '--verify', '--sample', '50%', '--seed', 'a seed')
  await expect(steady(reconciled.out)).toMatchFileSnapshot(golden('reconcile'))

  await clinic.deliver('other.csv', `${HEADER}eve,2026-03-02,400,,,,\n`)
  const other = summaryOf(await clinic.run('--file', join(clinic.workplace.folder, 'inbox/other.csv')))
  const rerun = await waybill('rerun', other.run, '--only', 'rejected')
  await expect(steady(rerun.out)).toMatchFileSnapshot(golden('rerun'))
  await expect(steady((await waybill('rerun', 'none')).err)).toMatchFileSnapshot(
    golden('error-run-not-found'),
  )
})
