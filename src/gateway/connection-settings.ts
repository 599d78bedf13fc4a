import { validateHeaderValue } from 'node:http'
import { isIPv4 } from 'node:net'
import { WaybillError } from '../model/errors.ts'

/**
 * Parses the gateway's address. It may have a path, to which every path of the interface is appended.
 *
 * @throws `settings-invalid` for: no URL; a scheme other than http and https; plain http to another machine, since body and
 * headers hold health data and credentials; a user name, password, query or fragment
 */
export function parseBaseUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null) throw refusal('is not a URL')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refusal('is neither https nor http')
  if (url.username !== '' || url.password !== '') throw refusal('holds a user name or a password')
  if (url.search !== '' || url.hash !== '') throw refusal('has a query or a fragment')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw refusal('uses plain http for a host other than this machine')
  }
  return url
}

/** Resolves a path of the interface below the base URL. */
export function resolvePath(base: URL, path: string, query?: URLSearchParams): URL {
  const below = base.pathname.replace(/\/+$/, '') + path.replace(/[?#]/g, encodeURIComponent)
  const search = query?.toString() ?? ''
  // Builds the URL in a single parse: a load makes one per request.
  return new URL(`${base.origin}${below}${search === '' ? '' : `?${search}`}`)
}

/**
 * Checks the upload address from the gateway: https of the gateway's host, of a host below it, or of a host allowed by the job; for a
 * gateway on this machine also any port of this machine.
 *
 * @param base of the gateway
 * @throws `usage-wrong` for another address, or one with a user name or a password; without the address, which is a credential
 */
export function parseUploadAddress(text: string, base: URL, hosts: readonly string[]): URL {
  const url = URL.parse(text)
  if (url !== null && url.username === '' && url.password === '' && mayUpload(url, hostOf(base), hosts))
    return url
  throw new WaybillError(
    'usage-wrong',
    'The upload address is neither an https address of the gateway nor of a host in medicalRecords.uploadHosts.',
    {
      remedy:
        "Ask the gateway's operator for the upload host, and add it to medicalRecords.uploadHosts of the job.",
    },
  )
}

function mayUpload(url: URL, own: string, hosts: readonly string[]): boolean {
  const host = hostOf(url)
  if (isLoopback(host)) return isLoopback(own) && /^https?:$/.test(url.protocol)
  return url.protocol === 'https:' && (host === own || host.endsWith(`.${own}`) || hosts.includes(host))
}

/** Host name without the dot of the root. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/\.$/, '')

/** Checks a `hostname` as written by the URL parser: IPv4 in four decimal parts, IPv6 shortened and in brackets. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

function refusal(what: string): WaybillError {
  return new WaybillError('settings-invalid', `The address of the gateway ${what}.`, {
    place: { key: 'WAYBILL_GATEWAY_URL' },
  })
}

/** Source of the bearer token. The document does not say how to obtain it. Errors of both functions are passed on. */
export interface AccessTokenSource {
  readonly accessToken: () => Promise<string>
  /** Fetches a new token; default: `accessToken`. */
  readonly renewAccessToken?: () => Promise<string>
}

/**
 * Returns the credential if a header can carry it.
 *
 * @throws `settings-invalid` if it is empty, or has a line break or another character not allowed in headers
 */
export function checkCredential(text: string, setting: string): string {
  let carried = text !== ''
  try {
    validateHeaderValue('credential', text)
  } catch {
    carried = false
  }
  if (carried) return text
  throw new WaybillError(
    'settings-invalid',
    'The credential is empty or has a character not allowed in headers, such as a line break.',
    { place: { key: setting } },
  )
}
