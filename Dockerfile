# Waybill with the Node that it needs, for jobs and mappings that are mounted: docs/deploy.md, "An image".
FROM node:24-bookworm-slim AS package
WORKDIR /source
COPY . .
RUN npm ci --ignore-scripts --no-audit --no-fund && npm pack --pack-destination /

FROM node:24-bookworm-slim
COPY --from=package /waybill-*.tgz /
RUN npm install --global --no-audit --no-fund /waybill-*.tgz && npm cache clean --force && rm /waybill-*.tgz \
 && install -d -o node -g node -m 0700 /var/lib/waybill && install -d -o node -g node /srv/waybill
ENV WAYBILL_HOME=/var/lib/waybill/home WAYBILL_LOG_FORMAT=json WAYBILL_METRICS=9464
USER node
WORKDIR /srv/waybill
VOLUME /var/lib/waybill
# Of `schedule`, which serves it; a run that is started by hand has no such address, and is well as long as it runs.
HEALTHCHECK --interval=60s --timeout=5s --start-period=20s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.WAYBILL_METRICS.split(':').at(-1)}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), ({ cause }) => process.exit(cause?.code === 'ECONNREFUSED' ? 0 : 1))"]
ENTRYPOINT ["waybill"]
CMD ["schedule"]
