/** Nights of a small job that somebody is told of, and what a person sees of them at 80 columns. */
import { z } from 'zod'
import type { Fault, Passing } from '../faults/fault-proxy.ts'
import { type HookServer, SECRET, startHookServer } from '../notify/hook-server.ts'
import { type Clinic, HEADER, JOB, openClinic } from './clinic.ts'
import type { Ended } from './command-line.ts'
import type { ReferenceStore } from './reference-store.ts'

export interface Nights extends Clinic {
  readonly hook: HookServer
  /** As on a terminal of 80 columns. */
  look(...args: string[]): Promise<Ended>
}

interface NightOptions {
  /** Lines of the job file. */
  readonly job?: string
  readonly mapping?: string
  readonly environment?: Record<string, string>
  readonly store?: ReferenceStore
  /** What becomes of a request on its way to the store. */
  readonly faultOf?: (request: Passing) => Fault | Promise<Fault>
}

export async function openNights({ job = '', environment, ...options }: NightOptions = {}): Promise<Nights> {
  const hook = await startHookServer()
  const clinic = await openClinic({
    ...options,
    // Rows that are all alike are suspicious.
    job: `${JOB}notify: { webhook: "${hook.url}/hook" }\n${job.includes('drift:') ? '' : 'drift: { fit: off }\n'}${job}`,
    environment: { WAYBILL_WEBHOOK_SECRET: SECRET, WAYBILL_KEY: 'a key that stays the same', ...environment },
  })
  return {
    ...clinic,
    hook,
    look: (...args) =>
      clinic.workplace.waybillWith((context) => ({ ...context, columns: 80, user: 'operator' }), ...args),
  }
}

/** So many people of their own, with a remark each. */
export const delivery = (name: string, rows: number, row = '61,5.1,70.5,kg,fine'): string =>
  HEADER + Array.from({ length: rows }, (_, at) => `${name}-${at},2026-03-02,${row}\n`).join('')

/** Without what differs from time to time: ids, hours, places, processes. */
export const steadily = (
  text: string,
  { store, workplace, hook }: Pick<Nights, 'store' | 'workplace'> & { readonly hook?: Nights['hook'] },
): string =>
  text
    // Lines are folded by how long an address or a number is.
    .replaceAll(/\n {9}(?=\S)/g, ' ')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, 'RUN-RUN-RUN-RUN-RUN-RUN')
    .replaceAll(/in \d+\.\d s, \d+ rows\/s/g, 'in N s, N rows/s')
    .replaceAll(/did not succeed for \d+ s/g, 'did not succeed for N s')
    .replaceAll(/after \d+\.\d s/g, 'after N s')
    .replaceAll(/\d+\.\d s of work/g, 'N s of work')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'INSTANT')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'INSTANT')
    .replaceAll(/^Sent by .*$/gm, 'Sent by  HOST, home HOME')
    .replaceAll(workplace.folder, 'FOLDER')
    .replaceAll(store.url.replace(/\d+$/, 'PORT'), 'GATEWAY')
    .replaceAll((hook ?? store).url.replace(/\d+$/, 'PORT'), 'GATEWAY')

/** Title and text of the notices that were received. */
export const noticesText = ({ hook }: Nights): string =>
  hook
    .received()
    .map(({ data: { title, text } }) => [title, ...text].join('\n'))
    .join('\n\n')

const Listed = z.object({ runs: z.array(z.looseObject({ run: z.string() })) })
export const runIds = ({ out }: Ended): string[] => Listed.parse(JSON.parse(out)).runs.map(({ run }) => run)
