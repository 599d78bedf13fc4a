/** A clinic with a history of some days, to be filled in, and other commands that come meanwhile. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, vi } from 'vitest'
import { z } from 'zod'
import type { CommandContext } from '../../src/cli/command-form.ts'
import { runCommandLine } from '../../src/main.ts'
import { type Fault, PASS, type Passing, startFaultProxy } from '../faults/fault-proxy.ts'
import { type Clinic, HEADER, openClinic } from './clinic.ts'
import { type Ended, summaryOf } from './command-line.ts'
import { unanswered } from './left-behind.ts'
import { gatewaySettings, type ReferenceStore, startReferenceStore } from './reference-store.ts'

export const JOB = `exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv", mapping: clinic }
accounts: { register: never }
submit: { readLag: 100ms }
`
export const DAYS = Array.from({ length: 9 }, (_, at) => `2026-01-0${at + 1}`)
const RANGE = ['--from', '2026-01-01', '--to', '2026-01-09'] as const

export const nameOf = (day: string): string => `clinic_${day.replaceAll('-', '')}.csv`
/** A person of its own for each day: of somebody with newer records a profile cannot tell. */
export const rowOf = (day: string): string => `person-${day},${day},61,5.1,70.5,kg,fine\n`

export interface History extends Clinic {
  /** What to type for it. */
  readonly backfill: readonly string[]
  /** What befalls requests from now on. */
  strike(faultOf: (request: Passing) => Fault | Promise<Fault>): void
  /** Days of the records of each batch, in the order in which they were sent. */
  sent(): string[]
  /** In this process, as if it were one of its own: several at once. */
  start(
    args: readonly string[],
    changed?: (context: CommandContext) => Partial<CommandContext>,
  ): Promise<Ended>
  query(sql: string): Record<string, unknown>[]
  untilAsked(): Promise<void>
}

export const isBatch = ({ method }: Passing): boolean => method === 'POST'
const Sent = z.array(z.object({ observationDate: z.string() }))
export const daysOf = ({ body }: Passing): string =>
  [...new Set(Sent.parse(JSON.parse(body)).map((one) => one.observationDate.slice(0, 10)))].join(' ')

/** A history of an export a day, and nothing in the inbox. @param more settings */
export async function openHistory(job = JOB, more: Readonly<Record<string, string>> = {}): Promise<History> {
  const store = await startReferenceStore({ open: true })
  let faultOf: (request: Passing) => Fault | Promise<Fault> = () => PASS
  const proxy = await startFaultProxy(store.url, (request) => faultOf(request))
  const clinic = await openClinic({ store, job, environment: { ...gatewaySettings(proxy.url), ...more } })
  const { folder, home, environment } = clinic.workplace
  await mkdir(join(folder, 'history'))
  for (const day of DAYS) await writeFile(join(folder, 'history', nameOf(day)), HEADER + rowOf(day))
  const query = (sql: string): Record<string, unknown>[] => {
    const database = new DatabaseSync(join(home, 'ledger.sqlite'), { readOnly: true })
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  }
  let processes = 0
  return {
    ...clinic,
    query,
    backfill: ['backfill', 'clinic', ...RANGE, '--in', join(folder, 'history')],
    strike(next) {
      faultOf = next
    },
    sent: () => proxy.seen.filter(isBatch).map(daysOf),
    async start(args, changed = () => ({})) {
      let out = ''
      let err = ''
      const interrupt = new AbortController().signal
      const streams = {
        ...{ environment, folder, terminal: false as const, columns: undefined, interrupt },
        out: (text: string) => {
          out += text
        },
        err: (text: string) => {
          err += text
        },
      }
      const owner = `elsewhere:${++processes}`
      const code = await runCommandLine(args, streams, (context) => ({
        ...context,
        owner,
        // Who waits looks once a second.
        sleep: (ms, signal) => context.sleep(ms === 1_000 ? 20 : ms, signal),
        ...changed(context),
      }))
      return { code, out, err }
    },
    untilAsked: () =>
      vi.waitFor(() => expect(query('select owner from waiting')).toHaveLength(1), { timeout: 60_000 }),
  }
}

/** A run of that day alone that is in doubt: stored, or not. */
export async function inDoubt(
  scene: History,
  day: string,
  what: 'pass-then-reset' | 'reset',
): Promise<string> {
  scene.strike(unanswered(what))
  const path = await scene.deliver(nameOf(day), HEADER + rowOf(day))
  const { run } = summaryOf(await scene.run('--file', path))
  scene.strike(() => PASS)
  return run
}

export const storedDays = async (store: ReferenceStore): Promise<string[]> =>
  (await store.records('biometric'))
    .map((one) => `${String(one['observationDate']).slice(0, 10)} ${one['code']}`)
    .sort()
export const eachOnce = (days: readonly string[]): string[] =>
  days.flatMap((day) => ['29463-7', '4548-4', '8867-4'].map((code) => `${day} ${code}`)).sort()
