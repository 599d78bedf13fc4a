/** What a batch was answered, for those who want to know; and what one record of a gateway that stores a batch whole or not at all says of the others. */
import type { CreateAnswer } from '../gateway/answer.ts'
import { type AnswerClass, GatewayError } from '../gateway/gateway-error.ts'
import type { Entry } from '../model/entry.ts'
import type { Verdict } from '../model/outcome.ts'
import type { RecordKind } from '../model/record.ts'

/** A batch as it was sent. */
export interface BatchSent {
  readonly batchId: string
  readonly kind: RecordKind
  readonly records: number
  readonly bytes: number
  /** From 1. */
  readonly attempt: number
}

/** What became of the request. Codes and counts; no health data. */
export interface BatchAnswer extends BatchSent {
  readonly class: AnswerClass
  /** Undefined where no status line came. */
  readonly status: number | undefined
  readonly requestId: string
  readonly durationMs: number
}

export interface BatchWatch {
  readonly now: () => number
  readonly onBatch?: ((answer: BatchAnswer) => void) | undefined
}

/** @throws what `call` throws */
export async function watchBatch<Told extends Pick<CreateAnswer, 'class' | 'status' | 'requestId'>>(
  { now, onBatch }: BatchWatch,
  sent: BatchSent,
  call: () => Promise<Told>,
): Promise<Told> {
  if (onBatch === undefined) return call()
  const startedAt = now()
  const tell = (answer: Pick<BatchAnswer, 'class' | 'status' | 'requestId'>): void => {
    const { class: outcome, status, requestId } = answer
    onBatch({ ...sent, class: outcome, status, requestId, durationMs: Math.max(0, now() - startedAt) })
  }
  try {
    const answer = await call()
    tell(answer)
    return answer
  } catch (error) {
    if (error instanceof GatewayError) tell(error)
    throw error
  }
}

/**
 * @param batch all records of one request, and no others
 * @param verdicts those that contradict each other speak for themselves alone: then the gateway is not what it was taken for
 */
export function speakForBatch(
  batch: readonly Entry[],
  verdicts: ReadonlyMap<Entry, Verdict>,
): Map<Entry, Verdict> {
  const own = batch.map((entry) => [entry, verdicts.get(entry) ?? 'hidden'] as const)
  const known = new Set(
    own.map(([, verdict]) => verdict).filter((one) => one === 'stored' || one === 'absent'),
  )
  const [only] = known
  if (known.size !== 1 || only === undefined) return new Map(own)
  return new Map(batch.map((entry) => [entry, only]))
}

/** @param job whether its gateway is known to be such */
export const spokenFor = (
  job: { readonly batchesAreAtomic: boolean },
  entries: readonly Entry[],
  verdicts: ReadonlyMap<Entry, Verdict>,
): ReadonlyMap<Entry, Verdict> => (job.batchesAreAtomic ? speakForBatch(entries, verdicts) : verdicts)
