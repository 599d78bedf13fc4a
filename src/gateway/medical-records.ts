import { z } from 'zod'
import { Envelope, type EnvelopeError } from './contract/envelope.ts'
import {
  MedicalRecordsFound,
  MedicalRecordsRequestDeleted,
  MedicalRecordsRequestReturned,
  MedicalRecordsRequestType,
  MedicalRecordsSearch,
  MedicalRecordsUpsert,
} from './contract/medical-records-request.ts'
import { type Lenient, tolerated } from './contract/tolerated.ts'
import { checkCode, checkSuccess, readItems } from './read-envelope.ts'
import { resolveSpelling, type Spelling, spellSearch, spellUpsert } from './spelling.ts'
import type { Transport } from './transport.ts'

const UpsertEnvelope = Envelope(MedicalRecordsRequestReturned)
const SearchEnvelope = Envelope(MedicalRecordsFound)
/** "data = the deleted request's details": whether in an array is not documented, and the deletion stands either way. */
const DeletionEnvelope = Envelope(z.unknown()).extend({
  data: z
    .union([
      z.array(MedicalRecordsRequestDeleted).transform(([first]) => first),
      tolerated(MedicalRecordsRequestDeleted),
    ])
    .optional(),
})
/** "data = nested array of request type items"; a flat one is borne too. */
const TypesEnvelope = Envelope(z.union([z.array(MedicalRecordsRequestType), MedicalRecordsRequestType]))

/** A readable 2xx answer to an upsert. */
export interface UpsertAnswer {
  readonly status: number
  /** `accepted` where as many requests came back as were sent and no error is listed. */
  readonly class: 'accepted' | 'accepted-in-part'
  /** In the order of the answer: they are told apart by `referenceNumber`. Dates are MM/DD/YYYY (`DateReturned`). */
  readonly requests: readonly MedicalRecordsRequestReturned[]
  /** Errors listed in an answer of success. They may repeat health data. */
  readonly errors: readonly EnvelopeError[]
}

/**
 * Requests for medical records (section "Medical-records requester"), called with the requester's API key alone. What is
 * not as the contract has it is never sent: the calls that send something throw a ZodError for it.
 */
export interface MedicalRecords {
  /**
   * Creates the requests whose `referenceNumber` is new and updates the others: what is sent is replaced, null clears, what
   * is omitted keeps its value. One that is new must also be a `MedicalRecordsRequestSent`; only the gateway can tell.
   * Dates are YYYY-MM-DD. @throws GatewayError, ZodError
   */
  upsert(requests: MedicalRecordsUpsert): Promise<UpsertAnswer>
  /** One page of the requests that match; the rest of the answer repeats the search. @throws GatewayError, ZodError */
  search(search: MedicalRecordsSearch): Promise<MedicalRecordsFound>
  /**
   * Deletes a request that is not processed yet, and gives its details where the answer holds them.
   * @throws GatewayError: `refused` where there is no such request, or it is processed
   */
  delete(referenceNumber: string): Promise<Lenient<MedicalRecordsRequestDeleted> | undefined>
  /** What can be asked for. @throws GatewayError */
  requestTypes(): Promise<readonly MedicalRecordsRequestType[]>
  /**
   * Sends the authorization, a PDF, to the `authorizationUploadUrl` of an upsert, within 30 minutes of it, with neither key
   * nor token. Status and body of the answer are not documented: any 2xx counts.
   * @throws GatewayError; WaybillError `usage-wrong`: the address is not https, nor http on this machine
   */
  uploadAuthorization(authorizationUploadUrl: string, pdf: Uint8Array): Promise<void>
}

export function createMedicalRecords(transport: Transport, spelling: Spelling = {}): MedicalRecords {
  const spelled = resolveSpelling(spelling)
  return {
    upsert: async (requests) => {
      const body = spellUpsert(MedicalRecordsUpsert.parse(requests), spelled)
      return transport.send({ endpoint: 'upsertMedicalRecords', body: JSON.stringify(body) }, (answer) => {
        const envelope = answer.read(UpsertEnvelope)
        checkCode(envelope, answer)
        const { data, errors } = envelope
        const complete = data.length === body.length && (errors ?? []).length === 0
        return {
          status: answer.status,
          class: complete ? 'accepted' : 'accepted-in-part',
          requests: data,
          errors: errors ?? [],
        }
      })
    },
    search: async (search) => {
      const body = spellSearch(MedicalRecordsSearch.parse(search), spelled)
      return transport.send(
        { endpoint: 'searchMedicalRecords', body: JSON.stringify(body) },
        (answer) => readItems(answer, SearchEnvelope)[0] ?? { results: [] },
      )
    },
    delete: async (referenceNumber) =>
      transport.send({ endpoint: 'deleteMedicalRecords', parameters: { referenceNumber } }, (answer) => {
        const envelope = answer.read(DeletionEnvelope)
        checkSuccess(envelope, answer)
        return envelope.data ?? undefined
      }),
    requestTypes: () =>
      transport.send({ endpoint: 'listRequestTypes' }, (answer) => readItems(answer, TypesEnvelope).flat()),
    uploadAuthorization: (address, pdf) =>
      transport.send({ endpoint: 'uploadAuthorization', address, body: pdf }, () => undefined),
  }
}
