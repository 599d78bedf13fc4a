import { validateHeaderValue } from 'node:http'
import { WaybillError } from '../model/errors.ts'

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
