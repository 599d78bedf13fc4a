/** A reference gateway in the test's own process, and what it holds: the authority on what was stored, and how often. */
import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import {
  type ReferenceGatewayOptions,
  startReferenceGateway,
} from '../../packages/reference-gateway/src/server.ts'

const Stored = z.looseObject({
  _account: z.string(),
  transactionId: z.string().optional(),
  name: z.string(),
  source: z.looseObject({ meta: z.looseObject({ persistentRecordId: z.string(), batchId: z.string() }) }),
})
export type Stored = z.infer<typeof Stored>

export interface ReferenceStore {
  readonly url: string
  /** Settings that point a command at it. */
  readonly environment: Record<string, string>
  records(kind: RecordKind): Promise<Stored[]>
  /** Records of all kinds. */
  allRecords(): Promise<Stored[]>
  /** Ends it before the test does, with all that it holds. */
  close(): Promise<void>
}

type RecordKind = 'biometric' | 'condition' | 'careTeam'

/** What of the reference gateway's options a test may want otherwise. */
export type ReferenceStoreOptions = Pick<
  Partial<ReferenceGatewayOptions>,
  'open' | 'makeId' | 'port' | 'apiKeys' | 'registeredAgain' | 'dataFile' | 'uploadLifetimeMs'
>

export async function startReferenceStore(options: ReferenceStoreOptions = {}): Promise<ReferenceStore> {
  const gateway = await startReferenceGateway({ clock: Date.now, makeId: randomUUID, ...options })
  onTestFinished(() => gateway.close())
  const records = async (kind: RecordKind): Promise<Stored[]> => {
    const answer = await fetch(`${gateway.url}/_reference/records?kind=${kind}`)
    const text = await answer.text()
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => Stored.parse(JSON.parse(line)))
  }
  return {
    url: gateway.url,
    environment: gatewaySettings(gateway.url),
    records,
    close: () => gateway.close(),
    allRecords: async () => [
      ...(await records('biometric')),
      ...(await records('condition')),
      ...(await records('careTeam')),
    ],
  }
}

export const gatewaySettings = (url: string): Record<string, string> => ({
  WAYBILL_GATEWAY_URL: url,
  WAYBILL_API_KEY: 'test-key',
  WAYBILL_ACCESS_TOKEN: 'test-token',
})
