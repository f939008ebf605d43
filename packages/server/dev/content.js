import { h } from './dom.js'

/** The content of a message, as the recipient sees it. */
export function contentOf(message, workspace) {
  switch (message.channel) {
    case 'sms':
      return smsOf(message)
    case 'whatsapp':
      return whatsappOf(message.content)
    case 'email':
      return mailOf(
        message.content,
        `/dev/api/messages/${message.id}/html?${new URLSearchParams({ workspace })}`,
      )
    default:
      return voiceOf(message.content)
  }
}

function smsOf({ sms }) {
  const count = sms.segments.length
  const parts = sms.segments.map((text, index) =>
    h(
      'span',
      { class: 'segment' },
      text,
      count > 1
        ? h('sup', { 'aria-label': `segment ${index + 1} of ${count}` }, `${index + 1}/${count}`)
        : null,
    ),
  )
  const facts = [
    sms.encoding,
    `${sms.characters} characters`,
    `${sms.units} ${sms.encoding === 'GSM-7' ? 'septets' : 'UTF-16 units'}`,
    `${count} ${count === 1 ? 'segment' : 'segments'}`,
  ]
  const causes = sms.non_gsm_characters
  return [
    h('div', { class: 'phone' }, h('p', { class: 'bubble sms' }, ...parts)),
    h('p', { class: 'facts' }, facts.join(' · ')),
    causes.length > 0 &&
      h('p', { class: 'facts' }, 'Not in GSM-7: ', ...causes.map((char) => h('kbd', {}, char))),
  ].filter(Boolean)
}

function whatsappOf({ text, preview_url, media, template }) {
  const bubble = h('div', { class: 'bubble whatsapp' })
  if (text !== undefined) bubble.append(h('p', {}, text))
  if (media) {
    bubble.append(
      h(
        'div',
        { class: 'medium' },
        h('strong', {}, media.type),
        media.filename ? h('span', {}, media.filename) : null,
        h('span', { class: 'address' }, media.url),
      ),
    )
    if (media.caption) bubble.append(h('p', {}, media.caption))
  }
  if (template) bubble.append(...templateOf(template))
  const note = {
    media: 'The inbox does not load the media.',
    template: 'WhatsApp keeps the text of a template: these are its variables.',
    text: preview_url ? 'With a preview of the first link.' : '',
  }[media ? 'media' : template ? 'template' : 'text']
  return [h('div', { class: 'phone' }, bubble), note && h('p', { class: 'facts' }, note)].filter(
    Boolean,
  )
}

function templateOf({ name, id, language, variables = {} }) {
  return [
    h('p', {}, 'Template ', h('strong', {}, name ?? id), language ? ` (${language})` : ''),
    table(Object.entries(variables)),
  ]
}

function voiceOf({ text, language, voice, audio_url }) {
  const facts = [audio_url && 'Plays a recording', language, voice].filter(Boolean)
  return [
    h('div', { class: 'phone' }, h('p', { class: 'bubble voice' }, text ?? audio_url)),
    facts.length > 0 && h('p', { class: 'facts' }, facts.join(' · ')),
  ].filter(Boolean)
}

/** A mail: its HTML in a sandboxed frame, and its plain text. */
export function mailOf({ subject, html, text, reply_to, headers = {} }, address) {
  const lines = [
    ['Subject', subject],
    reply_to && ['Reply-To', reply_to],
    ...Object.entries(headers),
  ]
  return [
    table(lines.filter(Boolean)),
    html
      ? h('iframe', {
          class: 'mail',
          title: 'The mail',
          sandbox: '',
          src: address,
          loading: 'lazy',
        })
      : h('pre', { class: 'mail-text', tabindex: '0' }, text),
    html && text ? fold('Plain text', text) : null,
    html ? fold('HTML source', html) : null,
    html ? h('p', { class: 'facts' }, 'Scripts, links and remote images are off.') : null,
  ].filter(Boolean)
}

function fold(title, text) {
  return h('details', {}, h('summary', {}, title), h('pre', { tabindex: '0' }, text))
}

/** A table of names and values. */
export function table(entries) {
  return h(
    'dl',
    { class: 'table' },
    ...entries.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  )
}
