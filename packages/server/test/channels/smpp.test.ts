import { carries } from './carriage.contract.ts'
import { openSmsc, SHORT_CODE } from './smsc-carrier.ts'

carries('SMPP', {
  channel: 'sms',
  price: 1,
  senders: `Invalid sender. Must be one of: ${SHORT_CODE}`,
  open: () => openSmsc(),
})
