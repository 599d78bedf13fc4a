/** A process of its own that delivers what is due: the ledger, the target and the time are its arguments. */
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { openChannel } from '../../src/notify/open-channel.ts'
import { createOutbox } from '../../src/notify/outbox.ts'

const [file = '', webhook = '', webhookSecret = '', time = ''] = process.argv.slice(2)
const ledger = await openLedger(file)
const now = (): number => Number(time)
const settings = { webhookSecret, smtpUrl: undefined, smtpFrom: undefined, commandEnvironment: {} }
await createOutbox({
  ledger,
  now,
  sleep: async () => {},
  newId: () => 'none',
  targetsOf: async () => [{ webhook, on: 'failure', folder: '/' }],
  open: (target, withinMs) => openChannel(target, settings, now, { withinMs }),
  report: () => {},
}).deliver()
await ledger.close()
