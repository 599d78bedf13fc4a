/** Renews the token once for all requests that were refused with it. */
export interface TokenRenewal {
  /** Counts renewals: which token a request goes out with. */
  readonly generation: number
  /** @param refused the generation with which the request went out; where a later one is there by now, that is the renewal */
  renew(refused: number): Promise<void>
}

export function createTokenRenewal(renewToken: () => Promise<void>): TokenRenewal {
  let generation = 0
  let underWay: Promise<void> | undefined
  return {
    get generation() {
      return generation
    },
    async renew(refused) {
      if (refused !== generation) return
      underWay ??= renewToken()
        .then(() => {
          generation++
        })
        .finally(() => {
          underWay = undefined
        })
      await underWay
    },
  }
}
