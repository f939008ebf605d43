import { carries } from './carriage.contract.ts'
import { openGateway } from './gateway-carrier.ts'

carries('a gateway over HTTP', {
  channel: 'sms',
  price: 1,
  senders: 'Invalid sender. Must be one of: +15005550100',
  open: () => openGateway(),
})
