/** The list of provider types. A new type needs a folder and a line here; the registry derives the rest. */
export { httpType } from './http/type.ts'
export { sandboxType } from './sandbox.ts'
export { smppType } from './smpp/type.ts'
export { smtpType } from './smtp/type.ts'
export { twilioType } from './twilio/type.ts'
export { whatsappCloudType } from './whatsapp-cloud/type.ts'
