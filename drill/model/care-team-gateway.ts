/** The care team of one account at a gateway that may list an entry late. */
import type { CareTeamReturned } from '../../src/gateway/contract/health-profile.ts'
import type { Entry } from '../../src/model/entry.ts'

export interface TeamEntry {
  readonly id: string
  readonly npi: string
  readonly name: string
  readonly observedAt: number
  readonly storedAt: number
  /** Our id; undefined for an entry of somebody else. */
  readonly ours: string | undefined
}

export class TeamGateway {
  entries: readonly TeamEntry[] = []
  /** Id of the marked entry. */
  marked: string | undefined
  private ids = 0
  private readonly keepsIds: boolean

  constructor(keepsIds: boolean) {
    this.keepsIds = keepsIds
  }

  store(
    entry: Pick<Entry, 'observedAt'>,
    fields: { npi: string; name: string },
    ours: string | undefined,
    now: number,
  ): string {
    const id = `id-${++this.ids}`
    this.entries = [...this.entries, { id, ...fields, observedAt: entry.observedAt, storedAt: now, ours }]
    return id
  }

  /** @param since entries stored later are not shown yet */
  list(since: number): CareTeamReturned[] {
    return this.entries
      .filter(({ storedAt }) => storedAt <= since)
      .map(({ id, npi, name, observedAt, ours }) => ({
        ...{
          id,
          npi,
          name,
          type: 'PCP',
          pcp: id === this.marked,
          observationDate: new Date(observedAt).toISOString(),
        },
        ...(this.keepsIds ? { source: { meta: { persistentRecordId: ours ?? 'of somebody else' } } } : {}),
      })) as unknown as CareTeamReturned[]
  }

  delete(ids: readonly string[]): void {
    this.entries = this.entries.filter(({ id }) => !ids.includes(id))
    if (!this.entries.some(({ id }) => id === this.marked)) this.marked = undefined
  }

  find({ id, npi }: { readonly id?: string; readonly npi?: string }): TeamEntry | undefined {
    return this.entries.find((one) => (id === undefined ? one.npi === npi : one.id === id))
  }
}
