/** Renews the share of this process in what a gateway permits, in the ledger that all machines have. */
import type { Ledger } from '../ledger/ledger.ts'
import type { GatewayShare } from '../load/dispatcher.ts'
import { type Asked, divide, EMPTY_POT, type Granted, leave, Pot, RENEW_MS, SHORT_MS } from '../load/share.ts'
import type { Application } from './application.ts'

interface OpenShare extends GatewayShare {
  /** Gives the share back, once nothing is under way. */
  close(): Promise<void>
}

/** @param gateway name in the ledger */
export function openShare(
  { owner: process, isDead, sleep, randomHex }: Pick<Application, 'owner' | 'isDead' | 'sleep' | 'randomHex'>,
  paces: NonNullable<Ledger['paces']>,
  gateway: string,
): OpenShare {
  // A process may have several connections to a gateway.
  const owner = `${process} ${randomHex(3)}`
  const isGone = (name: string): boolean => isDead(name.slice(0, name.lastIndexOf(' ')))
  const over = new AbortController()
  let nap = new AbortController()
  let renewing: Promise<void> | undefined
  const renewOnce = (asked: Asked): Promise<Granted> =>
    paces.change(gateway, (state, now) => {
      const { pot, granted } = divide(potOf(state), owner, asked, now, isGone)
      return { state: JSON.stringify(pot), result: granted }
    })
  return {
    begin(ask, grant) {
      renewing ??= (async () => {
        while (!over.signal.aborted) {
          nap = new AbortController()
          // Without the database the share ends by itself.
          const granted = await renewOnce(ask()).catch(() => undefined)
          if (granted !== undefined) grant(granted)
          const waitMs = granted?.isUneven === true ? SHORT_MS : RENEW_MS
          await sleep(waitMs, AbortSignal.any([over.signal, nap.signal])).catch(() => {})
        }
      })()
    },
    renew: () => nap.abort(),
    async close() {
      if (renewing === undefined) return
      over.abort()
      await renewing
      await paces
        .change(gateway, (state, now) => ({
          state: JSON.stringify(leave(potOf(state), owner, now)),
          result: undefined,
        }))
        .catch(() => {})
    },
  }
}

/** State of another version is no state. */
function potOf(state: string | undefined): Pot {
  if (state === undefined) return EMPTY_POT
  return Pot.safeParse(JSON.parse(state)).data ?? EMPTY_POT
}
