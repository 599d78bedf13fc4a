import { z } from 'zod'
import type { Answer } from './answer.ts'
import { Envelope, type EnvelopeError } from './contract/envelope.ts'
import { tolerated } from './contract/tolerated.ts'
import { checkCode } from './read-envelope.ts'

/**
 * A record as a create call echoes it. Only the two ids are looked at here, to keep a large answer cheap; whoever
 * matches a record by its contents reads it with its contract (`BiometricEcho`, `ConditionReturned`, `CareTeamReturned`).
 */
const Echo = z.looseObject({ transactionId: tolerated(z.string()), id: tolerated(z.string()) })
export type Echo = z.infer<typeof Echo>

const CreateEnvelope = Envelope(Echo)

/** A readable 2xx answer to a create call. */
export interface CreateAnswer {
  readonly status: number
  /** Names the request in logs; it is not sent. */
  readonly requestId: string
  /** `accepted` where as many records came back as were sent and no error is listed. */
  readonly class: 'accepted' | 'accepted-in-part'
  /** In the order of the answer, which need not be that of the request. */
  readonly echoes: readonly Echo[]
  /** Errors listed in an answer of success. They may repeat health data. */
  readonly errors: readonly EnvelopeError[]
}

/** Reads the answer to a create call that sent `count` records. @throws UnreadableAnswer */
export function readCreateAnswer(answer: Answer, count: number): CreateAnswer {
  const envelope = answer.read(CreateEnvelope)
  checkCode(envelope, answer)
  const echoes = envelope.data
  const errors = envelope.errors ?? []
  const complete = echoes.length === count && errors.length === 0
  const { status, requestId } = answer
  return { status, requestId, class: complete ? 'accepted' : 'accepted-in-part', echoes, errors }
}
