export { default as contacts } from './contacts/contacts.tsx'
export { default as received } from './received/received.tsx'
export { default as suppressions } from './suppressions/suppressions.tsx'
export { default as verifications } from './verifications/verifications.tsx'
