/** One situation of an operator: a night, what the list says in the morning, and how the list becomes empty. */
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import { z } from 'zod'
import { HEADER } from '../cli/clinic.ts'
import type { Ended } from '../cli/command-line.ts'
import { type Nights, openNights } from '../cli/nights.ts'
import { type Fault, PASS, type Passing } from '../faults/fault-proxy.ts'
import type { needing } from '../needed.ts'
import { asAdmin } from '../postgres/server.ts'

/** A row whose unit the mapping does not know. */
export const wrong = (id: string): string => `${id},2026-03-02,61,5.1,70.5,parsec,fine\n`

const Listed = z.object({
  needs: z.array(
    z.looseObject({
      cause: z.string(),
      code: z.string().optional(),
      jobs: z.array(z.string()),
      what: z.string(),
      runs: z.array(z.string()),
      times: z.number(),
      steps: z.array(z.object({ say: z.string(), commands: z.array(z.string()) })),
    }),
  ),
})
export type Listed = z.infer<typeof Listed>['needs'][number]

/** Rows of so many people. */
export const people = (name: string, rows: number): string =>
  HEADER +
  Array.from(
    { length: rows },
    (_, at) => `${name}-${at},2026-03-02,${60 + (at % 9)},5.${at % 9},${61.5 + (at % 20)},kg,fine\n`,
  ).join('')

export interface Scene extends Nights {
  /** Address in the settings at the start. */
  readonly gateway: string
  /** What befalls requests from now on. */
  strike(faultOf: (request: Passing) => Fault): void
  /** As if typed so many days later. */
  later(days: number, ...args: string[]): Promise<Ended>
  needs(...args: string[]): Promise<Listed[]>
  /** Resolves once a request has come since the last `strike`. */
  untilAsked(): Promise<void>
  /** Changes the ledger behind the back of the program. */
  query(sql: string): Promise<void>
  read(path: string): Promise<string>
  /** Suggested commands that begin so. */
  suggested(beginning: string): Promise<string[]>
  /** Types the only suggested command of the list that begins so. */
  type(beginning: string): Promise<Ended>
  /** Number of suggested commands typed so far. */
  typed(): number
  /** The clock of commands: milliseconds since the epoch. */
  now(): number
  /** On a clock that goes on by itself where the command waits. */
  quickly(...args: string[]): Promise<Ended>
  /** Writes the job, with the target of its notices. */
  job(yaml: string): Promise<void>
  /** Writes into the folder of the workplace. */
  write(path: string, text: string): Promise<void>
}

export type SceneOptions = NonNullable<Parameters<typeof openNights>[0]> & {
  /** The job file, in place of the usual one. */
  readonly whole?: string
}

export async function openScene({ whole, ...options }: SceneOptions = {}): Promise<Scene> {
  let faultOf: (request: Passing) => Fault = () => PASS
  const nights = await openNights({
    ...options,
    faultOf(request) {
      asked.resolve()
      return faultOf(request)
    },
  })
  const job: Scene['job'] = (yaml) =>
    nights.workplace.job('clinic', `${yaml}notify: { webhook: "${nights.hook.url}/hook" }\n`)
  if (whole !== undefined) await job(whole)
  let asked = Promise.withResolvers<void>()
  let days = 0
  let count = 0
  const needs: Scene['needs'] = async (...args) => {
    const { code, out } = await later(days, 'needs', '--json', '--exit-code', ...args)
    const listed = Listed.parse(JSON.parse(out)).needs
    expect(code).toBe(listed.length === 0 ? 0 : 1)
    return listed
  }
  const later: Scene['later'] = (after, ...args) => {
    days = after
    return nights.workplace.waybillWith(
      (context) => ({
        ...context,
        now: () => context.now() + wholeMs(after),
        columns: 80,
        user: 'operator',
      }),
      ...args,
    )
  }
  const suggested: Scene['suggested'] = async (beginning) => {
    const commands = (await needs()).flatMap(({ steps }) => steps.flatMap((step) => step.commands))
    return [...new Set(commands.filter((one) => one.startsWith(`waybill ${beginning}`)))]
  }
  const now = (): number => Date.now() + wholeMs(days)
  return {
    ...nights,
    now,
    job,
    quickly: (...args) =>
      nights.workplace.waybillWith(
        (context) => ({
          ...context,
          now,
          sleep: async (ms) => {
            days += ms / 86_400_000
          },
        }),
        ...args,
      ),
    gateway: nights.workplace.environment['WAYBILL_GATEWAY_URL'] ?? '',
    read: (path) => readFile(resolve(nights.workplace.folder, path), 'utf8'),
    needs,
    later,
    look: (...args) => later(days, ...args),
    strike(next) {
      faultOf = next
      asked = Promise.withResolvers()
    },
    untilAsked: () => asked.promise,
    async query(sql) {
      const server = nights.workplace.environment['WAYBILL_LEDGER']
      if (server !== undefined) return asAdmin(server, sql)
      const database = new DatabaseSync(join(nights.workplace.home, 'ledger.sqlite'))
      database.exec(sql)
      database.close()
    },
    suggested,
    async type(beginning) {
      const found = await suggested(beginning)
      const typed = found.find((one) => one === `waybill ${beginning}`) ?? found[0]
      if (typed === undefined) throw new Error(`no suggested command begins with ${beginning}`)
      if (typed !== `waybill ${beginning}`) expect(found).toHaveLength(1)
      count++
      return later(days, ...wordsOf(typed).slice(1))
    },
    typed: () => count,
    write: (path, text) => writeFile(resolve(nights.workplace.folder, path), text),
  }
}

/** A clock gives whole milliseconds. */
const wholeMs = (days: number): number => Math.round(days * 86_400_000)

/** Words of a command as a shell takes them. */
export const wordsOf = (typed: string): string[] =>
  [...typed.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

export type Ledger = 'file' | 'postgres'

export interface Situation {
  /** Number: one situation may be played in several ways. */
  readonly row: number
  readonly name: string
  readonly options?: SceneOptions | (() => SceneOptions)
  /** Ends with the run of the night. */
  readonly night: (scene: Scene) => Promise<Ended>
  /** Null for a killed process. */
  readonly exit: number | null
  /** Undefined: nobody is needed, and the list stays empty. */
  readonly need?: {
    readonly cause: string
    readonly code?: string
    readonly times?: number
    readonly people?: number
  }
  /** Types what the list suggests, after what is done outside of the program. */
  readonly end: (scene: Scene) => Promise<unknown>
  /** Ledger that the situation is about; default: either. */
  readonly ledger?: Ledger
  /** What the machine must have. */
  readonly requires?: ReturnType<typeof needing>
}
