import { POSTGRES } from '../../src/ledger/postgres/database.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { emptied, emptySchema } from '../postgres/server.ts'
import { ledgerSuites } from './suite/ledger-suites.ts'

let schema: string | undefined

ledgerSuites('PostgreSQL', async () => {
  schema ??= await emptySchema()
  const url = schema
  const ids = createAccountIdCipher(() => 'key')
  // The suites hand the clock in.
  const dialect = { ...POSTGRES, clock: undefined }
  const open = (place: string) => openPostgresLedger({ url }, { ids, place, dialect })
  let ledger = await open('here')
  return {
    ledger,
    async reopen(place = 'here') {
      await ledger.close()
      ledger = await open(place)
      return ledger
    },
    async cleanup() {
      await ledger.close()
      await emptied(url)
    },
  }
})
