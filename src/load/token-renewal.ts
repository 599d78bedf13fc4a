export type TokenRenewal = ReturnType<typeof createTokenRenewal>

/** Renews the token once for all requests refused with it. */
export function createTokenRenewal(renewToken: () => Promise<void>) {
  let underWay: Promise<void> | undefined
  const token = {
    /** Number of renewals: identifies the token of a request. */
    generation: 0,
    /** @param refused generation of the token that the request used; a later generation means that the token is renewed already */
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
