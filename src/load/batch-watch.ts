/** Reports the result of each request that carries a batch. */
import { type AnswerClass, GatewayError } from '../gateway/gateway-error.ts'
import type { RecordKind } from '../model/record.ts'

interface AnswerFacts {
  readonly class: AnswerClass
  /** Undefined without a status line. */
  readonly status: number | undefined
  readonly requestId: string
}

/** Codes and counts; no health data. */
export interface BatchAnswer extends AnswerFacts {
  readonly batchId: string
  readonly kind: RecordKind
  readonly records: number
  readonly bytes: number
  /** Number of the attempt, from 1. */
  readonly attempt: number
  readonly durationMs: number
}

export interface BatchWatch {
  readonly now: () => number
  readonly onBatch?: ((answer: BatchAnswer) => void) | undefined
}

/** @throws what `call` throws */
export async function watchBatch<Answer extends AnswerFacts>(
  { now, onBatch }: BatchWatch,
  sent: Omit<BatchAnswer, keyof AnswerFacts | 'durationMs'>,
  call: () => Promise<Answer>,
): Promise<Answer> {
  if (onBatch === undefined) return call()
  const startedAt = now()
  const tell = ({ class: kind, status, requestId }: AnswerFacts): void =>
    onBatch({ ...sent, class: kind, status, requestId, durationMs: Math.max(0, now() - startedAt) })
  try {
    const answer = await call()
    tell(answer)
    return answer
  } catch (error) {
    if (error instanceof GatewayError) tell(error)
    throw error
  }
}
