import type { z } from 'zod'

/** One call of the interface: where it goes, what it carries, what it answers. */
export interface Endpoint {
  /** Heading of section "Endpoints" under which the document has it. */
  readonly section: string
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Below the base URL; `{name}` stands for a parameter. Of the upload, which has an address of its own, a name for it. */
  readonly path: string
  /** Section "Authentication": every endpoint but the upload, which is "called without the integrator's key". */
  readonly apiKey: boolean
  /** Section "Authentication": the bearer token; `not-shown` where its sample has none and nothing says if it is required. */
  readonly bearer: 'required' | 'not-shown' | 'none'
  /** Section "Versioning": value of X-API-Version; no such header where undefined. */
  readonly version?: '1.0' | '1.0.0'
  /** Of the request's body; section "Authentication" adds the charset on the health profile. */
  readonly contentType?: 'application/json' | 'application/json;charset=UTF-8' | 'application/pdf'
  /** Takes the header Accept-Language. */
  readonly localised?: true
  /** Section "Versioning": still there, and superseded. */
  readonly deprecated?: true
  readonly parameters?: z.ZodObject
  readonly query?: z.ZodType
  readonly request?: z.ZodType
  /** Status of success, and the body of it where it is documented. */
  readonly success: { readonly status: number; readonly body?: z.ZodType }
}
