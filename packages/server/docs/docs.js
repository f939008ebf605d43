// The page must choose the colour scheme of the library.
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()

const spec = await (await fetch('openapi.json')).json()
// Requests go to the host and the path that served the page: another name of the same host would be another origin.
spec.servers = [{ url: new URL('.', location.href).href.replace(/\/$/, '') }]

window.SwaggerUIBundle({
  dom_id: '#reference',
  spec,
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  filter: true,
  tryItOutEnabled: true,
  requestSnippetsEnabled: true,
  // The default validator would send the document to a host of the library's maker.
  validatorUrl: null,
})
