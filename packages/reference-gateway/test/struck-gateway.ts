import type { z } from 'zod'
import { FaultPlan } from '../src/fault-plan.ts'
import { NOW, startGateway } from './gateway-under-test.ts'

type PlanGiven = z.input<typeof FaultPlan>
export type FaultGiven = PlanGiven['faults'][number]

/** How a call ended, as its client saw it. */
interface Ended {
  readonly end: 'answered' | 'broken' | 'no answer'
  readonly status?: number
  readonly headers?: Headers
  readonly text?: string
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

interface Waiting {
  /** Aborted when the client waits no more. */
  readonly patience?: AbortSignal
}

const HEADERS = { 'x-api-key': 'key', authorization: 'Bearer t-1' }

/** A gateway with the accounts p-1 and p-2 whose clock the test moves; faults are loaded after what is prepared. */
export async function startStruck(faults: readonly FaultGiven[] = []) {
  let now = NOW
  const gateway = await startGateway({
    clock: () => now,
    tokenOwners: { 't-1': { reference: 'p-1', type: 'partnerAccountId' } },
  })
  await gateway.register('p-1')
  await gateway.register('p-2')

  /** Sends, and says how that ended. */
  const send = async (
    { method, path, body, headers }: Sent,
    { patience = new AbortController().signal }: Waiting = {},
  ): Promise<Ended> => {
    try {
      const answer = await fetch(path.startsWith('http') ? path : gateway.url + path, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...HEADERS,
          ...headers,
        },
        signal: patience,
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await answer.text()
      return { end: 'answered', status: answer.status, headers: answer.headers, text }
    } catch {
      return { end: patience.aborted ? 'no answer' : 'broken' }
    }
  }
  const load = async (...plan: FaultGiven[]) => {
    const { status, text } = await gateway.call('PUT', '/_reference/faults', { seed: 7, faults: plan })
    if (status !== 200) throw new Error(text)
  }
  if (faults.length > 0) await load(...faults)

  return {
    ...gateway,
    send,
    load,
    pass: (ms: number) => {
      now += ms
    },
    now: () => now,
    clear: () => gateway.call('DELETE', '/_reference/faults'),
    report: async (): Promise<{ faults: { matched: number; struck: number; ordinals: number[] }[] }> =>
      JSON.parse((await gateway.call('GET', '/_reference/faults')).text),
    /** Id and count of all that is stored of a kind. */
    occurrences: async (kind: string, min = 1): Promise<Record<string, number>> => {
      const { text } = await gateway.call('GET', `/_reference/occurrences?kind=${kind}&min=${min}`)
      const lines = text.split('\n').filter((line) => line !== '')
      return Object.fromEntries(
        lines.map((line): [string, number] => {
          const { id, times } = JSON.parse(line) as { id: string; times: number }
          return [id, times]
        }),
      )
    },
  }
}

export const plan = (...faults: FaultGiven[]): FaultPlan => FaultPlan.parse({ seed: 7, faults })
