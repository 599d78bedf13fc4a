import { validateHeaderValue } from 'node:http'
import { isIPv4 } from 'node:net'
import { WaybillError } from '../model/errors.ts'

/**
 * The gateway's address. It may have a path of its own, to which every path of the interface is appended.
 * @throws WaybillError `settings-invalid`: no URL; another scheme than http and https; plain http to another host than
 *   this machine, since the body is health data and the headers are credentials; a user name, password, query or fragment.
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

/** The address of a path of the interface below the base URL. */
export function resolvePath(base: URL, path: string, query?: URLSearchParams): URL {
  const below = base.pathname.replace(/\/+$/, '') + path.replace(/[?#]/g, encodeURIComponent)
  const search = query?.toString() ?? ''
  // Read once: a load makes one for each request.
  return new URL(`${base.origin}${below}${search === '' ? '' : `?${search}`}`)
}

/**
 * Fills in the parameters of a path, each as one segment (RFC 3986 section 2.1).
 * @returns undefined if a parameter is empty, `.` or `..` (section 5.2.4), and would lead to another path of the interface; or has half a
 *   character
 */
export function fillPath(
  path: string,
  parameters: Readonly<Record<string, string>> = {},
): string | undefined {
  const isSegment = (value = ''): boolean => value.isWellFormed() && !/^\.{0,2}$/.test(value)
  const wanted = [...path.matchAll(/\{(\w+)\}/g)]
  if (!wanted.every(([, name = '']) => isSegment(parameters[name]))) return undefined
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''))
}

/**
 * The address that the gateway gave for the upload of an authorization: https of the gateway's host, of a host below that one, or of a host that
 * the job allows; of a gateway on this machine also any other port of this machine.
 * @param base of the gateway
 * @throws WaybillError `usage-wrong`: another address, or one with a user name or a password. The address is as good as a credential: the error
 *   does not show it.
 */
export function parseUploadAddress(text: string, base: URL, hosts: readonly string[]): URL {
  const url = URL.parse(text)
  if (url !== null && url.username === '' && url.password === '' && mayUpload(url, hostOf(base), hosts))
    return url
  throw new WaybillError(
    'usage-wrong',
    'The upload address is not https of the gateway, nor of a host that the job allows (medicalRecords.uploadHosts).',
    { remedy: 'Ask the gateway where authorizations are uploaded to, and allow that host in the job.' },
  )
}

function mayUpload(url: URL, own: string, hosts: readonly string[]): boolean {
  const host = hostOf(url)
  if (isLoopback(host)) return isLoopback(own) && /^https?:$/.test(url.protocol)
  return url.protocol === 'https:' && (host === own || host.endsWith(`.${own}`) || hosts.includes(host))
}

/** Host name without the dot of the root. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/\.$/, '')

/** `hostname` as the URL parser writes it: IPv4 in four decimal parts, IPv6 shortened and in brackets. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

function refusal(what: string): WaybillError {
  return new WaybillError('settings-invalid', `The address of the gateway ${what}.`, {
    place: { key: 'WAYBILL_GATEWAY_URL' },
  })
}

/** Where the bearer token comes from. How it is obtained is not documented; both may reject, and that error is passed on. */
export interface AccessTokenSource {
  readonly accessToken: () => Promise<string>
  /** Fetches a token anew; `accessToken` is asked again where this is missing. */
  readonly renewAccessToken?: () => Promise<string>
}

/** The token in use: fetched at the first call that needs it, kept until it is renewed. */
export interface AccessToken {
  current(): Promise<string>
  /** Fetches a token anew. Calls that come while one is being fetched wait for that one. */
  renew(): Promise<string>
}

export function holdAccessToken(source: AccessTokenSource): AccessToken {
  let held: Promise<string> | undefined
  let renewal: Promise<string> | undefined

  const hold = (fetched: Promise<string>): Promise<string> => {
    const token = fetched.then((text) => checkCredential(text, 'WAYBILL_ACCESS_TOKEN'))
    held = token
    // A fetch that failed is not kept: the next call asks again.
    token.catch(() => {
      if (held === token) held = undefined
    })
    return token
  }

  return {
    current: () => held ?? hold(source.accessToken()),
    renew: () => {
      renewal ??= hold((source.renewAccessToken ?? source.accessToken)()).finally(() => {
        renewal = undefined
      })
      return renewal
    },
  }
}

/**
 * The credential itself, if a header can carry it.
 * @throws WaybillError `settings-invalid`: empty, or with a line break or another character that a header may not hold.
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
    'The credential is empty or holds a character that a header cannot carry, such as a line break.',
    { place: { key: setting } },
  )
}
