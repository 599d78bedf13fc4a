/** Where the file of a run lies once it was moved away, and which file must not be. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, HEADER, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { openFaultyClinic } from './left-behind.ts'
import { gatewaySettings } from './reference-store.ts'

const ARCHIVING = `exports: { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../done }
accounts: { register: never }
`
/** Its pulse is out of the plausible range: rejected, and all else of the file goes through. */
const DAN = 'dan,2026-03-02,900,5.3,72.5,kg,fine\n'

test('an export that was archived is named, traced and taken up where it lies by then', async () => {
  const clinic = await openClinic({ job: ARCHIVING })
  const { folder, waybill } = clinic.workplace
  const inbox = await clinic.deliver('day.csv', `${HEADER}${ANN}${DAN}`)
  const ran = summaryOf(await clinic.run())
  const archived = join(folder, 'done', 'day.csv')
  expect(ran.exports).toMatchObject([{ file: archived }])

  // The vendor delivers the next one under the same name, and that goes to the archive, too.
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}${DAN}`)
  const next = summaryOf(await clinic.run())
  expect(next.exports).toMatchObject([{ file: `${archived}.1` }])
  await clinic.deliver('day.csv', HEADER)

  const shown = await waybill('show', ran.run)
  const typed = /^ {4}waybill (mapping check clinic --export (\S+))$/m.exec(shown.out)
  expect(typed?.[2]).toBe('done/day.csv')
  expect((await waybill(...(typed?.[1] ?? '').split(' '))).code).toBe(0)

  const [record] = await clinic.store.records('biometric')
  const traced = await waybill('trace', String(record?.['transactionId']))
  expect(traced.out).toContain(`Row          1, line 2, byte ${HEADER.length} of done/day.csv`)

  expect((await stat(inbox)).size).toBe(HEADER.length)
  const again = summaryOf(await waybill('rerun', next.run, '--json'))
  expect(again.exports).toMatchObject([{ file: `${archived}.1` }])
})

test('a run at another gateway leaves the file that an unfinished run goes on with, and show says how that is finished', async () => {
  const clinic = await openFaultyClinic({ job: ARCHIVING, patience: '1s' })
  const { folder, waybill } = clinic.workplace
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  clinic.strike(() => answer(503))
  const first = summaryOf(await clinic.run())
  expect(first.state).toBe('interrupted')
  clinic.strike(() => PASS)

  const there = clinic.proxy.url
  const elsewhere = gatewaySettings(clinic.store.url)
  Object.assign(clinic.workplace.environment, elsewhere)
  const finishing = `WAYBILL_GATEWAY_URL=${there} waybill run clinic`
  const shown = await waybill('show', first.run)
  expect(shown.out).toContain(`\n    ${finishing}\n`)
  expect(shown.out).toContain(`The run went to ${there}, and the settings name ${clinic.store.url}`)
  expect((await waybill('needs')).out).toContain(finishing)

  const second = await clinic.run()
  expect(summaryOf(second)).toMatchObject({ state: 'finished' })
  expect(second.err).toContain(`run ${first.run} at ${there} still needs it`)
  expect(await readdir(join(folder, 'inbox'))).toEqual(['day.csv'])

  Object.assign(clinic.workplace.environment, gatewaySettings(there))
  // The same content under another name is another delivery, of which there is to be a word.
  await clinic.deliver('copy.csv', `${HEADER}${ANN}${BEN}`)
  const last = summaryOf(await clinic.run())
  expect(last.resumed).toMatchObject({ run: first.run })
  expect(last.exports).toMatchObject([{ name: 'copy.csv' }])
  expect(await readdir(join(folder, 'inbox'))).toEqual([])
})
