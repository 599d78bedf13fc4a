/** An installation with a run that left something behind, and its console within this process. */
import { mkdir, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { Application } from '../../src/runs/application.ts'
import { createWorkplace, type Workplace } from '../cli/command-line.ts'
import { startReferenceStore } from '../cli/reference-store.ts'

const HEAD =
  'participant_id,first_name,last_name,dob,gender,zip,screened_at,site,no_show,fasting,sbp,dbp,pulse,height_in,weight_lb,bmi,waist_in,tc,hdl,ldl,trig,glucose,a1c,tobacco,dx_diabetes,dx_hypertension,dx_asthma,pcp_name,pcp_npi,pcp_phone,remarks'
const ROWS = `P-1,Ann,Reed,1979-04-12,F,04884,02/04/2026 09:10,A,N,Y,126,76,81,63.9,158.5,27.3,38.7,196,55,129,60,100,5.7,Y,N,N,N,Dr. Alder,2515070102,,
P-2,Ben,Moor,1990-10-01,M,01001,02/04/2026 09:20,A,N,Y,118,high,,,160,,,,,,,,,N,N,N,N,,,,
`
/** Markup in the name of a file that a vendor chose. */
export const EXPORT = 'acme_<img src=x onerror=alert(1)>_20260204.csv'

/** Job of the installation. */
export const NIGHTLY = `exports: { from: ../inbox, match: "acme_*.csv", mapping: acme-onsite }
schedule: { cron: "15 2 * * *", zone: America/New_York, missed: skip }
`

/** @param name of an export; another one has other people */
export async function deliver(workplace: Workplace, name: string, person = 'P'): Promise<void> {
  await mkdir(join(workplace.folder, 'inbox'), { recursive: true })
  await writeFile(join(workplace.folder, 'inbox', name), `${HEAD}\n${ROWS.replaceAll('P-', `${person}-`)}`)
}

/** One run of `nightly`, which left a record behind. Its gateway is in this process: a built-in one is a process of its own, for each run. */
export async function openInstallation(settings: Record<string, string> = {}): Promise<{
  readonly workplace: Workplace
  readonly run: string
}> {
  const store = await startReferenceStore()
  const workplace = await createWorkplace({ ...store.environment, ...settings })
  await workplace.job('nightly', NIGHTLY)
  await deliver(workplace, EXPORT)
  const { out, err } = await workplace.waybill('run', 'nightly', '--json')
  const { run } = JSON.parse(out) as { run?: string }
  if (run === undefined) throw new Error(err)
  return { workplace, run }
}

export interface Served {
  /** `http://127.0.0.1:PORT` */
  readonly base: string
  /** Addresses that open a session, in the order in which they were printed. */
  readonly addresses: string[]
  /** All that was printed. */
  readonly said: string[]
  readonly end: () => Promise<number | null>
}

/** @param given clock, chance and user of the console, where these are not those of the machine */
export async function serve(
  workplace: Workplace,
  options: string[] = [],
  given: Partial<Pick<Application, 'now' | 'randomHex' | 'user'>> = {},
): Promise<Served> {
  const interrupt = new AbortController()
  const addresses: string[] = []
  const said: string[] = []
  const { promise: printed, resolve: print } = Promise.withResolvers<void>()
  let base = ''
  const running = workplace.waybillWith(
    (context) => ({
      ...context,
      ...given,
      interrupt: interrupt.signal,
      out: (lines) => {
        said.push([lines].flat().join('\n'))
        const [address] = /https?:\S+\/enter\/\S+/.exec([lines].flat().join('\n')) ?? []
        if (address !== undefined) addresses.push(address)
        const [, place] = /listens on (\S+)/.exec([lines].flat().join('\n')) ?? []
        base = address === undefined ? (place ?? '') : address.replace(/(?<=:\w+)\/enter.*/, '')
        print()
      },
    }),
    ...['console', '--listen', '0', ...options],
  )
  const end = async (): Promise<number | null> => {
    interrupt.abort()
    return (await running).code
  }
  onTestFinished(() => end().then(() => undefined))
  await Promise.race([printed, running.then(({ err }) => Promise.reject(new Error(err)))])
  return { base, addresses, said, end }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** A request with any headers, also those that `fetch` forbids. */
export function ask(
  url: string,
  {
    form,
    ...options
  }: { method?: string; headers?: Record<string, string>; form?: Record<string, string> } = {},
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const headers = { ...options.headers, ...(form && { 'content-type': 'application/x-www-form-urlencoded' }) }
  const asked = request(url, { method: form ? 'POST' : 'GET', ...options, headers }, (response) => {
    let text = ''
    response.on('data', (part: Buffer) => {
      text += part.toString()
    })
    response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
  })
  asked.on('error', reject)
  asked.end(form && new URLSearchParams(form).toString())
  return promise
}

export interface Visitor {
  readonly cookie: string
  readonly csrf: string
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, form: Record<string, string>, headers?: Record<string, string>): Promise<Answer>
}

/** Opens a session by the newest address. */
export async function enter({ base, addresses }: Served): Promise<Visitor> {
  const entered = await ask(addresses.at(-1) ?? '')
  expect(entered.status).toBe(303)
  const [cookie = ''] = entered.headers['set-cookie']?.[0]?.split(';') ?? []
  const get: Visitor['get'] = (path, headers) => ask(base + path, { headers: { cookie, ...headers } })
  const [, csrf = ''] = /name="csrf" value="(\w+)"/.exec((await get('/trace')).text) ?? []
  return {
    cookie,
    csrf,
    get,
    post: (path, form, headers) => ask(base + path, { form, headers: { cookie, ...headers } }),
  }
}
