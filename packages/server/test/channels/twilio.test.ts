import { carries } from './carriage.contract.ts'
import { openTwilio } from './twilio-carrier.ts'

carries('Twilio with SMS', {
  channel: 'sms',
  price: 1,
  senders: `Invalid sender. Must be one of: +15550100001, MG${'5'.repeat(32)}`,
  open: () => openTwilio(),
})

carries('Twilio with WhatsApp', {
  channel: 'whatsapp',
  price: 0.5,
  senders: 'Invalid sender. Must be one of: +15550100003',
  open: () => openTwilio(),
})
