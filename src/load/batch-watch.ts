/** Tells what became of each request that carries a batch. */
import type { CreateAnswer } from '../gateway/answer.ts'
import { type AnswerClass, GatewayError } from '../gateway/gateway-error.ts'
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
