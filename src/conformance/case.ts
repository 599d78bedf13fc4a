import type { Client } from './client.ts'

/** A user as the interface refers to one: in bodies, and in queries as `accountReference` and its type. */
export interface Account {
  readonly reference: string
  readonly type: 'accountId' | 'partnerAccountId'
}

/** What the interface itself has no call for, and a gateway under test offers in its own way. */
export interface Control {
  /** A bearer token that stands for the user. */
  tokenOf(account: Account): Promise<string>
  /** Lets the gateway's clock go on by so many milliseconds. */
  passTime(ms: number): Promise<void>
}

/**
 * One statement of the interface document, tried on a gateway by HTTP alone. `section` is the heading (of the sections
 * "States and transitions" and "Endpoints" `States: …` and `Endpoints: …`); `row` the first cell of a table's row, of an
 * endpoint its method and path, or words of the section, as they stand there.
 *
 * `needs` says what a run takes: `nothing` stores, changes and deletes nothing and asks for no person's data; `account`
 * reads what an account that is named holds; `writes` registers made-up users and stores under them; `control` also
 * takes what only a gateway under test can give.
 *
 * `run` rejects with an AssertionError where gateway and document differ, and with `NothingToJudge` where what the
 * gateway holds does not show it. Words never hold a value of a record.
 */
export type ConformanceCase = { readonly section: string; readonly row: string } & (
  | { readonly needs: 'nothing' | 'writes'; run(client: Client): Promise<void> }
  | { readonly needs: 'account'; run(client: Client, account: Account): Promise<void> }
  | { readonly needs: 'control'; run(client: Client, control: Control): Promise<void> }
)

/** Ends a case that the gateway's data cannot decide: an account without a record, say. */
export class NothingToJudge extends Error {
  override readonly name = 'NothingToJudge'
}

/** Makers of the cases of one section. */
export function inSection(section: string) {
  return {
    nothing: (row: string, run: (client: Client) => Promise<void>): ConformanceCase => ({
      section,
      row,
      needs: 'nothing',
      run,
    }),
    account: (row: string, run: (client: Client, account: Account) => Promise<void>): ConformanceCase => ({
      section,
      row,
      needs: 'account',
      run,
    }),
    writes: (row: string, run: (client: Client) => Promise<void>): ConformanceCase => ({
      section,
      row,
      needs: 'writes',
      run,
    }),
    control: (row: string, run: (client: Client, control: Control) => Promise<void>): ConformanceCase => ({
      section,
      row,
      needs: 'control',
      run,
    }),
  }
}
