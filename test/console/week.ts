/** A clinic after some nights: exports of several days, records in doubt, a mapping that was changed since, and days that no run has read. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CLINIC, HEADER } from '../cli/clinic.ts'
import { type FaultyClinic, openFaultyClinic, runInDoubt } from '../cli/left-behind.ts'

export const DAYS = ['2026-03-02', '2026-03-03', '2026-03-04'] as const
/** Day of the export whose records are in doubt; a backfill would read it, and another day. */
export const DOUBTFUL_DAY = '2026-03-05'
export const UNREAD_DAY = '2026-03-07'

const ROWS = 40

const JOB = `exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv", mapping: clinic }
accounts: { register: never }
drift: { fit: off }
`

export const nameOf = (day: string): string => `clinic_${day.replaceAll('-', '')}.csv`

/** The pulse rises by one each day; a row of every ten has no remark. */
const exportOf = (day: string): string =>
  HEADER +
  Array.from(
    { length: ROWS },
    (_, at) =>
      `p${at},${day},${50 + Number(day.slice(8)) + (at % 9)},5.${at % 10},${60 + at},kg,${at % 10 === 0 ? '' : 'fine'}\n`,
  ).join('')

export interface Week extends FaultyClinic {
  /** Run with records in doubt. */
  readonly doubtful: string
}

export async function openWeek(environment: Record<string, string> = {}): Promise<Week> {
  const clinic = await openFaultyClinic({ job: JOB, environment })
  for (const day of DAYS) {
    await clinic.deliver(nameOf(day), exportOf(day))
    const { code, out, err } = await clinic.run()
    if (code !== 0) throw new Error(out + err)
  }
  await clinic.deliver(nameOf(DOUBTFUL_DAY), exportOf(DOUBTFUL_DAY))
  const { run } = await runInDoubt(clinic, 'pass-then-reset')
  await clinic.deliver(nameOf(UNREAD_DAY), exportOf(UNREAD_DAY))
  const changed = CLINIC.replace('  hba1c: "a1c"\n', '').replace('"pulse"', '{ from: "pulse" }')
  await writeFile(join(clinic.workplace.folder, 'mappings/clinic.yaml'), changed)
  return { ...clinic, doubtful: run }
}
