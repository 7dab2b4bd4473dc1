// Imports with { type: 'file' } are the path of the file.
declare module 'swagger-ui-dist/*' {
  const path: string
  export default path
}
