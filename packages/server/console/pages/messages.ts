// One file: the pages share most of their code, and a person who opens one of them soon opens the others.
export { default as bulks } from './bulks/bulks.tsx'
export { default as newBulk } from './bulks/new-bulk.tsx'
export { default as compose } from './compose/compose.tsx'
export { default as messages } from './messages/messages.tsx'
