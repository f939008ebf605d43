// One file for these pages: together they are a fifth smaller, compressed, than each on its own.
export { default as contacts } from './contacts/contacts.tsx'
export { default as received } from './received/received.tsx'
export { default as suppressions } from './suppressions/suppressions.tsx'
