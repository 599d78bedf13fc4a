/** Renews the token once for all requests that were refused with it. */
export class TokenRenewal {
  /** Counts renewals: which token a request goes out with. */
  generation = 0
  private readonly renewToken: () => Promise<void>
  private underWay: Promise<void> | undefined

  constructor(renewToken: () => Promise<void>) {
    this.renewToken = renewToken
  }

  /** @param refused the generation with which the request went out; where a later one is there by now, that is the renewal */
  async renew(refused: number): Promise<void> {
    if (refused !== this.generation) return
    this.underWay ??= this.renewToken()
      .then(() => {
        this.generation++
      })
      .finally(() => {
        this.underWay = undefined
      })
    await this.underWay
  }
}
