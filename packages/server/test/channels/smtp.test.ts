import { carries } from './carriage.contract.ts'
import { openMail } from './mail-carrier.ts'

carries('SMTP', { channel: 'email', price: 0.1, senders: null, open: () => openMail() })
