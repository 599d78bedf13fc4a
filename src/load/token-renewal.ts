export type TokenRenewal = ReturnType<typeof createTokenRenewal>

/** Renews the token once for all requests that were refused with it. */
export function createTokenRenewal(renewToken: () => Promise<void>) {
  let underWay: Promise<void> | undefined
  const token = {
    /** Counts renewals: which token a request goes out with. */
    generation: 0,
    /** @param refused the generation with which the request went out; where a later one is there by now, that is the renewal */
    async renew(refused: number): Promise<void> {
      if (refused !== token.generation) return
      underWay ??= renewToken()
        .then(() => {
          token.generation++
        })
        .finally(() => {
          underWay = undefined
        })
      await underWay
    },
  }
  return token
}
